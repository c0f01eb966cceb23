"""Contents of a seed, with its problems."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class SeedError(Exception):
    """The seed cannot be played. The text is ``FILE:LINE: reason``."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")


class SeedBody(Struct, frozen=True):
    """Body of a call, with its first line in the seed."""

    line: int
    resource: str
    body: dict[str, Any]


class SeedAccount(Struct, frozen=True):
    line: int
    fields: dict[str, Any]
    bodies: list[SeedBody]
