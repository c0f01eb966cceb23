"""The docs page and COVERAGE.md: complete, accessible, and self-contained."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import pytest
from tools import coverage

from crofter import __version__
from crofter.edge import docspage, openapi
from crofter.edge.openapi.recorded import recorded
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.document import DOCUMENT

PAGE = docspage.page(DOCUMENT, trying=True).decode()
EMPTY = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Notes what is wrong with a page as it reads it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.targets: list[str] = []
        self.wrong: list[str] = []
        self._level = 0
        self.feed(page)
        self.wrong += [f"{tag} is not closed" for tag in self.open]
        self.wrong += [f"id {name} is used {count} times" for name, count in self.ids.items() if count > 1]
        self.wrong += [f"#{name} leads nowhere" for name in self.targets if name not in self.ids]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if tag not in EMPTY:
            self.open.append(tag)
        if name := given.get("id"):
            self.ids[name] += 1
        for attribute in ("href", "aria-labelledby"):
            value = given.get(attribute) or ""
            if attribute == "aria-labelledby" and value:
                self.targets.append(value)
            elif value.startswith("#"):
                self.targets.append(value[1:])
            elif value and not value.startswith("/"):
                self.wrong.append(f"{value} is elsewhere")
        if "src" in given or "style" in given or any(name.startswith("on") for name in given):
            self.wrong.append(f"{tag} has {sorted(given)}")
        if tag == "th" and "scope" not in given:
            self.wrong.append("a th has no scope")
        if re.fullmatch("h[1-6]", tag):
            if int(tag[1]) > self._level + 1:
                self.wrong.append(f"{tag} follows h{self._level}")
            self._level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag} closes nothing")


def test_the_reader_sees_what_is_wrong() -> None:
    bad = '<h1 id="a">x</h1><h3 id="a"></h3><th onclick="x"></th><a href="https://cdn.example/x"></a><a href="#b"><p>'
    assert len(Reader(bad).wrong) == 8


def test_the_docs_page_is_whole_and_accessible() -> None:
    reader = Reader(PAGE)
    assert reader.wrong == []
    assert {tag: reader.tags[tag] for tag in ("h1", "main", "nav", "header", "footer", "script", "img")} == {
        "h1": 1, "main": 1, "nav": 1, "header": 1, "footer": 1, "script": 1, "img": 0,
    }  # fmt: skip
    assert '<html lang="en">' in PAGE
    assert "prefers-color-scheme: dark" in PAGE
    assert [endpoint.name for endpoint in ENDPOINTS if endpoint.name not in reader.ids] == []


def test_the_policy_of_the_page_allows_its_style_and_its_script_and_nothing_else() -> None:
    for tag in ("style", "script"):
        elements = re.findall(f"<{tag}>(.*?)</{tag}>", PAGE, re.DOTALL)
        assert len(elements) == 1
        digest = base64.b64encode(hashlib.sha256(elements[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in docspage.CSP
        assert "compute" not in elements[0].lower()  # a dialect would change it, and the digest would be another's
    assert "connect-src 'self'" in docspage.CSP
    assert docspage.CSP.startswith("default-src 'none';")
    assert "unsafe" not in docspage.CSP


def test_operations_can_be_tried_in_sandbox_mode_only() -> None:
    plain = docspage.page(DOCUMENT).decode()
    assert 'id="token"' not in plain
    assert "data-of=" not in plain
    tried = set(re.findall(r'data-of="(\w+)"', PAGE))
    assert {endpoint.name for endpoint in ENDPOINTS} - tried == {
        "create_ticket_attachment", "stream_events", "update_oauth_client_thumbnail", "view_invoice_pdf",
    }  # fmt: skip


def _ratio(color: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(color), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_the_page_can_be_read_on_its_paper() -> None:
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in docspage.STYLE.split("@media")[:2]]
    assert len(themes) == 2
    for theme in themes:
        for ink in ("ink", "quiet", "link", "mark"):
            assert min(_ratio(theme[ink], theme[paper]) for paper in ("paper", "shade")) >= 4.5
    assert _ratio("#777777", "#ffffff") < 4.5


def test_what_is_shown_is_escaped() -> None:
    document: dict[str, Any] = openapi.document(ENDPOINTS[:1], "<script>")
    document["info"]["description"] = "a `<b>` & c"
    shown = docspage.page(document).decode()
    assert shown.count("<script>") == 1  # its own
    assert "<p>a <code>&lt;b&gt;</code> &amp; c</p>" in shown


def _curl_bodies() -> dict[str, Any]:
    """The JSON bodies of the page's examples, by the name of the operation."""
    shown = re.findall(r'aria-label="Example of (\w+)">(.*?)</pre>', PAGE, re.DOTALL)
    bodies = {name: re.search(r"-d '(.*)'$", html.unescape(text), re.DOTALL) for name, text in shown}
    return {name: json.loads(body[1].replace("'\\''", "'")) for name, body in bodies.items() if body}


def test_examples_send_the_bodies_that_were_recorded() -> None:
    bodies = _curl_bodies()
    wanted = {name: recorded(name).request for name in bodies if recorded(name).request}
    assert len(wanted) > 80
    assert {name: bodies[name] for name in wanted} == wanted


@pytest.mark.both
def test_the_docs_are_served(cloud: Cloud) -> None:
    answer = cloud.sandbox.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.text == PAGE.replace("http://127.0.0.1:8420", cloud.url)
    assert "export CROFTER=http://cloud.example:99\n" in cloud.client(None, host="cloud.example:99").get("/docs").text
    described = cloud.sandbox.get("/openapi.json")
    assert described.json() == openapi.document(ENDPOINTS, __version__, cloud.url)


def test_coverage_lists_what_is_missing_and_what_was_never_called() -> None:
    rows = [*coverage.interface(), coverage.Row("GET", "/v4/not/built")]
    answers: dict[str, set[int]] = {**coverage.documented(ENDPOINTS), "list_tags": {401}}
    text = coverage.render(ENDPOINTS, rows, answers)
    assert "| `GET /v4/not/built` | **missing** | | | |" in text
    assert text.count("**missing**") == int(re.findall(r"(\d+) missing", text)[0])
    assert "| `GET /v4/tags` | `list_tags` | tags | **never** | 401 |" in text
    assert f"{len(rows) - 2} called with success" in text
