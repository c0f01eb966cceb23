"""Examples that are real: what each operation was sent and has answered, recorded by ``tools/life``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("recorded.json")


class Recorded(msgspec.Struct, frozen=True):
    """A recorded successful call. ``request`` and ``answer`` are JSON; other content types are left out."""

    parts: dict[str, Any] = {}
    request: Any = msgspec.UNSET
    answer: Any = msgspec.UNSET


@cache
def _all() -> dict[str, Recorded]:
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Recorded])


def recorded(operation: str) -> Recorded:
    """Return the recording of an operation; empty for a new or foreign operation."""
    return _all().get(operation, Recorded())
