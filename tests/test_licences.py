"""Each package of a server that is under a licence of the GPL family is named on the page of licences."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "licences.md").read_text()


def needed() -> set[str]:
    """What crofter brings along, and what that brings along in turn."""
    names: set[str] = set()
    left = ["crofter"]
    while left:
        name = left.pop()
        try:
            wanted = distribution(name).requires or []
        except PackageNotFoundError:  # for another system or Python
            continue
        if name in names:
            continue
        names.add(name)
        plain = [line for line in wanted if "extra ==" not in line or name == "psycopg"]
        left += [match[0].lower() for line in plain if (match := re.match(r"[\w.-]+", line))]
    return names


def test_every_package_under_the_lgpl_is_named() -> None:
    for name in needed():
        metadata = distribution(name).metadata
        licences = [*(metadata.get_all("License-Expression") or []), *(metadata.get_all("Classifier") or [])]
        licences += [text[:80] for text in metadata.get_all("License") or []]
        if any("GPL" in line for line in licences):
            assert re.search(rf"\b{name}\b", PAGE), f"{name} is under {licences}"
