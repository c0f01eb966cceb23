"""Words of our own that would hide a word of the field, in pages and in names."""

from __future__ import annotations

import re

_METAPHORS = (
    "h[o]uses?|r[o]oms?|c[o]rridors?|d[o]wnstairs|doors?|lanes?|grips?|pulses?|dice|desks?|shelf|shelves|crews?"
    "|lookouts?|deeds?|towns?|yards?|purses?|farewells?|heeded"
)
"""Some are written so that a search for the word does not end here."""


def metaphors(text: str, *more: str) -> list[str]:
    """Return the metaphors in a text or name, where words also end at underscores and before capital letters."""
    words = "|".join((_METAPHORS, *more))
    return re.findall(rf"(?<![a-z])({words})(?![a-z])", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower())
