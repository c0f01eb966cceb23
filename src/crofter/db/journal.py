"""Journal of the reads and writes of a transaction, for the hashes of its audit entry."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

HELD = 500
"""Statements that are held at most; a long transaction keeps a hash of those before."""

_encode = msgspec.msgpack.Encoder(enc_hook=repr).encode


class Journal:
    """The rows that were read, and a hash of each statement that wrote with its values, each in their order.

    Held as they are and encoded once, when an entry is made: most transactions need that once, and some never.
    """

    __slots__ = ("reads", "writes")

    def __init__(self) -> None:
        self.reads: list[Any] = []
        self.writes: list[Any] = []

    def wrote(self, statement: bytes, values: Any) -> None:
        self.writes.append((statement, values))
        if len(self.writes) + len(self.reads) > HELD:
            self.reads, self.writes = [_digest(self.reads)], [_digest(self.writes)]

    def encoded(self) -> tuple[bytes, bytes]:
        """Return the encoded reads and writes since the last entry."""
        return _encode(self.reads), _encode(self.writes)

    def clear(self) -> None:
        self.reads.clear()
        self.writes.clear()


def _digest(held: list[Any]) -> bytes:
    return hashlib.blake2b(_encode(held), digest_size=32).digest()
