"""How much a browser loads: the first page, and each page after it."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Response
from tools.console import CONSOLE

from tests.console.site import Site

FIRST = {".js": 230_000, ".css": 25_000, ".woff2": 50_000}
FURTHER = 40_000
"""Bytes on the line, compressed."""
ASSETS = CONSOLE / "dist" / "assets"
_STATIC = re.compile(r'(?:from|import)\s*"\./([\w.-]+\.js)"')
_LATER = re.compile(r'import\(\s*[`"]\./([\w.-]+\.js)[`"]\s*\)')

pytestmark = pytest.mark.usefixtures("built")


@cache
def text(name: str) -> str:
    return (ASSETS / name).read_text()


def needed(name: str) -> frozenset[str]:
    """A file and all that has to be there before it runs."""
    names, left = set[str](), [name]
    while left:
        if (file := left.pop()) not in names:
            names.add(file)
            left += _STATIC.findall(text(file))
    return frozenset(names)


def weight(names: frozenset[str] | set[str]) -> int:
    return sum(len(gzip.compress((ASSETS / name).read_bytes(), 9)) for name in names)


def test_the_first_page_loads_no_more_than_its_budget(site: Site) -> None:
    loaded: dict[str, int] = {}

    def note(response: Response) -> None:
        if "/console/assets/" in response.url:
            loaded[response.url] = int(response.headers["content-length"])

    page = site.context.new_page()
    page.on("response", note)
    with page.expect_response(re.compile("/assets/Palette-")):  # the last that is fetched
        page.goto(f"{site.cloud.url}/console/instances")
    page.wait_for_selector("[data-signed-in]")
    page.close()
    sums = {kind: sum(size for url, size in loaded.items() if url.endswith(kind)) for kind in FIRST}
    assert sums[".js"] > 100_000, loaded
    assert all(sums[kind] <= most for kind, most in FIRST.items()), (sums, loaded)
    assert len(loaded) <= 25


def test_a_further_page_loads_little() -> None:
    index = (ASSETS.parent / "index.html").read_text()
    entry = needed(re.findall(r'src="[^"]*assets/([\w.-]+\.js)"', index)[0])
    later = {name for file in entry for name in _LATER.findall(text(file))}
    assert later, "no page is loaded when it is first visited"
    pages = {name: needed(name) - entry for name in later}
    assert {name: weight(names) for name, names in pages.items() if weight(names) > FURTHER} == {}


def test_nothing_of_another_host_is_named() -> None:
    for path in (ASSETS.parent / "index.html", *ASSETS.glob("*.css")):
        assert not re.search(r"(?:src|href|url)\W{1,3}(?:https?:)?//", Path(path).read_text()), path
