"use strict";
// What the docs page can do with a script: search, and in sandbox mode try an operation out. Without it all can be read.
(() => {
  const articles = [...document.querySelectorAll("article")].map((element) => ({
    element,
    link: document.querySelector(`nav a[href="#${element.getAttribute("aria-labelledby")}"]`).closest("li"),
    words: [...element.querySelectorAll("h3, h3 ~ p, dd")].map((part) => part.textContent).join(" ").toLowerCase(),
  }));
  const search = document.getElementById("search");
  const found = document.getElementById("found");

  function show() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, link, words } of articles) {
      const fits = wanted.every((word) => words.includes(word));
      element.hidden = link.hidden = !fits;
      count += fits;
    }
    for (const group of document.querySelectorAll("section, nav details")) {
      group.hidden = !group.querySelector("article:not([hidden]), li:not([hidden])");
      if (group.matches("details")) group.open = wanted.length > 0 && !group.hidden;
    }
    found.textContent = wanted.length ? `${count} of ${articles.length} operations` : "";
  }

  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  search.form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  search.form.hidden = false;

  const token = document.getElementById("token");
  if (!token) return;
  const opened = document.getElementById("opened");
  token.form.hidden = false;
  token.form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = await fetch("/_sandbox/accounts", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    const made = await answer.json();
    token.value = made.token || "";
    opened.textContent = answer.ok ? `You are ${made.username}.` : `${answer.status}: ${made.errors[0].reason}`;
  });

  function labelled(text, field) {
    const label = document.createElement("label");
    label.append(text, field);
    return label;
  }

  function formOf(button) {
    const form = document.createElement("form");
    const { method, path, body, of: name } = button.dataset;
    const address = Object.assign(document.createElement("input"), { value: path, spellcheck: false });
    form.append(labelled("Address", address));
    let text, plan;
    if (body !== undefined) {
      text = Object.assign(document.createElement("textarea"), { value: body, rows: body.split("\n").length + 1 });
      text.spellcheck = false;
      form.append(labelled("Body", text));
    }
    if (method !== "GET") {
      plan = Object.assign(document.createElement("input"), { type: "checkbox" });
      form.append(labelled("Only plan it", plan));
    }
    const send = Object.assign(document.createElement("button"), { textContent: `Send ${method}` });
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    const answered = Object.assign(document.createElement("pre"), { tabIndex: 0, hidden: true });
    answered.setAttribute("role", "region");
    answered.setAttribute("aria-label", `What was answered to ${name}`);
    form.append(send, status, answered);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const url = new URL(address.value, location.origin);
      if (url.origin !== location.origin) {
        status.textContent = "Only this server is asked.";
        return;
      }
      const headers = { ...(token.value && { Authorization: `Bearer ${token.value}` }) };
      if (text) headers["Content-Type"] = "application/json";
      if (plan && plan.checked) headers.Prefer = "plan";
      send.disabled = true;
      try {
        const answer = await fetch(url, { method, headers, body: text && text.value, credentials: "omit" });
        const content = await answer.text();
        status.textContent = `${answer.status} ${answer.statusText}`;
        const json = (answer.headers.get("content-type") || "").startsWith("application/json") && content;
        answered.textContent = json ? JSON.stringify(JSON.parse(content), null, 2) : content;
        answered.hidden = false;
      } catch (problem) {
        status.textContent = `There was no answer: ${problem.message}`;
      } finally {
        send.disabled = false;
      }
    });
    return form;
  }

  for (const button of document.querySelectorAll("button[data-of]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const form = formOf(button);
      button.replaceWith(form);
      form.querySelector("input").focus();
    });
  }
})();
