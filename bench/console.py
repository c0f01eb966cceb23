"""How quickly the console shows an account of 10,000 instances and 100,000 events, in headless Chromium.

``python -m bench.console [--instances 10000] [--events 100000]``. Milliseconds on the clock, the median of a few, and
of the processor's time in the tab (script, style, layout, paint). A machine that is busy with other things shows in
the first, less in the second. What a tab does when it is idle waits at the first rows until they have been measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from tests.login.browser import NAMES

from bench import filling
from bench.processes import Server
from bench.stores import Store
from bench.table import render

ROUNDS = 5


def filled(folder: Path, instances: int, events: int) -> Store:
    store = Store(folder / "data")
    store.server().stop()
    filling.fill_sqlite(store.folder, 0, instances)
    if events > instances:
        filling.fill_events(store.folder, instances, events)
    return store


def password_of(store: Store) -> str:
    command = [str(Path(sys.executable).with_name("crofter")), "admin", "users", "set-password", "admin", "--generate"]
    done = subprocess.run([*command, "--data", str(store.folder), "--json"], capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)[0]["password"])


WATCH = """(() => {
  const held = [], idle = window.requestIdleCallback.bind(window);
  window.requestIdleCallback = (...asked) => held.push(asked);
  window.release = () => {
    window.requestIdleCallback = idle;
    for (const asked of held.splice(0)) idle(...asked);
  };
  const painted = (rows) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => window.painted(rows);
    port2.postMessage(null);
  });
  let before = 0;
  new MutationObserver((_, observer) => {
    const rows = document.querySelectorAll("tbody tr").length;
    if (rows > before) painted(rows);
    before = rows;
    if (rows >= 100) observer.disconnect();
  }).observe(document, { subtree: true, childList: true });
})()"""
"""The tab reports the number of painted rows: polling would be part of the measurement."""


class Tab:
    """A monitored tab."""

    def __init__(self, browser: Browser, server: Server, password: str) -> None:
        self.root = f"http://127.0.0.1:{server.port}/console"
        self.context = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce")
        self.context.set_default_timeout(60_000)
        page = self.context.new_page()
        page.goto(f"{self.root}/help")
        page.get_by_label("Username").fill("admin")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("[data-signed-in]")
        page.close()

    @contextmanager
    def opened(self) -> Iterator[tuple[Page, CDPSession]]:
        page = self.context.new_page()
        self.painted = 0
        page.expose_function("painted", self._paint)
        page.add_init_script(WATCH)
        watched = self.context.new_cdp_session(page)
        watched.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield page, watched
        page.close()

    def _paint(self, rows: int) -> None:
        self.painted = rows

    def first_rows(self, page: Page, watched: CDPSession) -> Iterator[tuple[str, tuple[float, float]]]:
        """From nothing to the rows that fit into the window, and from nothing to all of the page."""
        busy, began = _busy(watched), time.perf_counter()
        page.goto(f"{self.root}/instances", wait_until="commit")
        self._wait(page, 1)
        clock, first = time.perf_counter() - began, _busy(watched) - busy
        yield "an empty tab to the first rows of the list of instances", (1000 * clock, first)
        page.evaluate("release()")
        self._wait(page, ROWS)
        yield "to all 100 of them", (1000 * (time.perf_counter() - began), _busy(watched) - busy)

    def _wait(self, page: Page, rows: int) -> None:
        until = time.perf_counter() + 60
        while self.painted < rows:
            if time.perf_counter() > until:
                raise RuntimeError(f"{self.painted} rows were shown in a minute, not {rows}")
            page.wait_for_timeout(5)


def _busy(watched: CDPSession) -> float:
    answer: dict[str, Any] = watched.send("Performance.getMetrics")
    return 1000 * next(float(each["value"]) for each in answer["metrics"] if each["name"] == "TaskDuration")


def measured(page: Page, watched: CDPSession, act: Callable[[], object], shown: str) -> tuple[float, float]:
    busy, began = _busy(watched), time.perf_counter()
    act()
    page.wait_for_selector(shown)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return 1000 * (time.perf_counter() - began), _busy(watched) - busy


def walks(tab: Tab) -> dict[str, list[tuple[float, float]]]:
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        with tab.opened() as (page, watched):

            def note(name: str, act: Callable[[], object], shown: str, *, at: tuple[Page, CDPSession]) -> None:
                times.setdefault(name, []).append(measured(*at, act, shown))

            at = (page, watched)
            for name, taken in tab.first_rows(page, watched):
                times.setdefault(name, []).append(taken)
            times.setdefault("redrawing one row", []).append(_redraw(page, watched))
            note("the next page of it", lambda: page.locator("main nav button").last.click(), LATER, at=at)
            note("one of it", lambda: page.locator("tbody th a").first.click(), "h1:has-text('filled')", at=at)
            note("home", lambda: page.locator("nav a[href$='/console/']").click(), "main section >> nth=3", at=at)
            note("events", lambda: page.locator("nav a[href$='/events']").click(), "main li[data-status]", at=at)
            note("find by name", lambda: _find(page), "tbody a[href$='/9999']", at=at)
            note("those that are offline", lambda: _state(page), "main p:has-text('match these filters')", at=at)
            note(
                "billing", lambda: page.locator("nav a[href$='/billing']").click(), "h2:has-text('By instance')", at=at
            )
    return times


ROWS = 100
LATER = "tbody a[href$='/150']"


def _find(page: Page) -> None:
    page.locator("nav a[href$='/instances']").first.click()
    page.locator("input[type=search]").fill("filled-9999")


def _state(page: Page) -> None:
    page.locator("input[type=search]").fill("")
    page.locator("select[aria-label=Status]").select_option("offline")


def _redraw(page: Page, watched: CDPSession) -> tuple[float, float]:
    """Redraw by a selection."""
    return measured(page, watched, lambda: page.locator("tbody input").first.check(), "tr[data-picked]")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100_000)
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name, sync_playwright() as playwright:
        store = filled(Path(name), asked.instances, asked.events)
        password = password_of(store)
        server = store.server()
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            times = walks(Tab(browser, server, password))
        finally:
            browser.close()
            server.stop()
    rows = [
        [name, *(f"{statistics.median(part):.0f} ms" for part in zip(*each, strict=True))]
        for name, each in times.items()
    ]
    print(render(f"{asked.instances} instances, {asked.events} events", ["From", "clock", "processor"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
