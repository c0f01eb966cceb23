"""Names that may be given: letters, digits, spaces and few signs."""

from __future__ import annotations

import re
from collections.abc import Callable

_LABEL = re.compile(r"[a-zA-Z0-9\-_ .]+")
_NAME = re.compile(r"[a-zA-Z0-9\-_ ]+")


def _check(pattern: re.Pattern[str], words: str) -> Callable[[str], str | None]:
    return lambda value: None if pattern.fullmatch(value) else f"Must consist of letters, digits, spaces, {words}"


LABEL = {"pattern": "^[a-zA-Z0-9 ._-]+$"}
NAME = {"pattern": "^[a-zA-Z0-9 _-]+$"}
"""The same for the OpenAPI document."""

label = _check(_LABEL, "hyphens, underscores and periods")
name = _check(_NAME, "hyphens and underscores")
