"""Examples that are real: what each operation was sent and has answered, recorded by ``tools/life``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("recorded.json")


class Recorded(msgspec.Struct, frozen=True):
    """One operation, done with success. ``request`` and ``answer`` are JSON; what is of another kind is left out."""

    parts: dict[str, Any] = {}
    request: Any = msgspec.UNSET
    answer: Any = msgspec.UNSET


@cache
def _all() -> dict[str, Recorded]:
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Recorded])


def recorded(operation: str) -> Recorded:
    """What is known of an operation; nothing, if it is new or not of this server."""
    return _all().get(operation, Recorded())
