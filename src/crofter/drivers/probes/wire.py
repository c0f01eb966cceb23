"""Messages between the server and the probe process: JSON frames with a length prefix."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
from msgspec import Struct

from crofter.drivers.probes.addresses import Kind

LONGEST_FRAME = 64 * 1024
HEAD = struct.Struct(">I")


class Ask(Struct, frozen=True):
    """A probe of a service."""

    id: int
    group: int
    """Group of the probe. Each group has few slots, so that none can take them all."""
    kind: Kind
    address: str
    timeout: float
    body: str | None = None
    allowed: tuple[str, ...] = ()
    """Networks that are not public and may be looked at all the same."""
    pause: float = 1.0
    """Seconds between two attempts."""


class Answer(Struct, frozen=True):
    id: int
    ok: bool
    detail: str
    """In words of our own: nothing that the service said ever comes back."""
    seconds: float = 0.0


def frame(message: Struct) -> bytes:
    content = msgspec.json.encode(message)
    return HEAD.pack(len(content)) + content


def length(head: bytes) -> int:
    (size,) = HEAD.unpack(head)
    if size > LONGEST_FRAME:
        raise ValueError("a frame that is too long")
    return int(size)


def read_ask(content: bytes) -> Ask:
    return msgspec.json.decode(content, type=Ask)


def read_answer(content: bytes) -> Any:
    return msgspec.json.decode(content, type=Answer)
