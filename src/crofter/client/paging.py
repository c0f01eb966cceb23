"""The items of a list, over as many pages as were requested."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

MOST = 10_000
"""Items that a list shows without ``--all``, ``--limit`` or ``--page``."""
PAGE_SIZE = 100
"""The largest page that every list accepts; tickets and replies allow no more."""
SMALLEST_PAGE = 25

Fetch = Callable[[int, int | None], dict[str, Any]]
"""Return a page by its number and size. Without a size the server chooses one."""


def add_flags(group: Any) -> None:
    chosen = group.add_mutually_exclusive_group()
    chosen.add_argument("--limit", type=_count, metavar="N", help=f"items to show at most ({MOST})")
    chosen.add_argument("--all", action="store_true", help="all items, however many")
    chosen.add_argument("--page", type=int, metavar="N", help="this page alone")
    group.add_argument("--page-size", type=int, metavar="N", help="items to fetch with one request")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a number from 1")
    return int(text)


def listed(asked: dict[str, Any], fetch: Fetch) -> dict[str, Any]:
    """Return the requested items as one page. Report on standard error which part of the list they are."""
    if asked["page"] is not None:
        return _single(asked["page"], fetch(asked["page"], asked["page_size"]))
    most = None if asked["all"] else asked["limit"] or MOST
    size = asked["page_size"] or (PAGE_SIZE if most is None else min(max(most, SMALLEST_PAGE), PAGE_SIZE))
    first = fetch(1, size)
    if "pages" not in first:
        return first
    items = list(first["data"])
    for page in range(2, first["pages"] + 1):
        if most is not None and len(items) >= most:
            break
        items += fetch(page, size)["data"]
    shown = items[:most]
    if len(shown) < first["results"]:
        _report(f"{len(shown)} of {first['results']} items; --all shows all")
    return {**first, "data": shown, "page": 1, "pages": 1}


def _single(number: int, page: dict[str, Any]) -> dict[str, Any]:
    if page.get("pages", 1) > 1:
        _report(f"page {number} of {page['pages']}; --all shows all {page['results']} items")
    return page


def _report(words: str) -> None:
    sys.stdout.flush()
    print(f"crofter: {words}", file=sys.stderr)
