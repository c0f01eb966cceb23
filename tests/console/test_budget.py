"""How much a browser loads: the first page, and each page after it."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

import pytest
from tools.console import CONSOLE

FIRST_SCRIPTS, FIRST_STYLES, FURTHER = 230_000, 25_000, 40_000
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


def test_a_page_loads_no_more_than_it_may() -> None:
    index = (ASSETS.parent / "index.html").read_text()
    entry = needed(re.findall(r'src="[^"]*assets/([\w.-]+\.js)"', index)[0])
    later = {name for file in entry for name in _LATER.findall(text(file))}
    assert later, "no page is loaded when it is first visited"
    pages = {name: needed(name) - entry for name in later}
    palette = next(names for name, names in pages.items() if name.startswith("Palette-"))
    first = max(weight(entry | palette | names) for name, names in pages.items() if name.startswith("List-"))
    assert first <= FIRST_SCRIPTS, first
    assert {name: weight(names) for name, names in pages.items() if weight(names) > FURTHER} == {}
    styles = set(re.findall(r'href="[^"]*assets/([\w.-]+\.css)"', index))
    assert styles
    assert weight(styles) <= FIRST_STYLES, weight(styles)
    print(f"first page {first / 1000:.0f} kB of scripts, {weight(styles) / 1000:.0f} kB of styles")


def test_nothing_of_another_host_is_named() -> None:
    for path in (ASSETS.parent / "index.html", *ASSETS.glob("*.css")):
        assert not re.search(r"(?:src|href|url)\W{1,3}(?:https?:)?//", Path(path).read_text()), path
