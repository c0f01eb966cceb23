"""Messages between the server and the picture process."""

from __future__ import annotations

import struct
from typing import Literal

import msgspec
from msgspec import Struct

Kind = Literal["PNG", "JPEG", "GIF", "TIFF"]
HEAD = struct.Struct(">I")
DONE, REFUSED = b"+", b"-"


class Unfit(Exception):
    """Not a picture that is taken. The text says why."""


class Task(Struct, frozen=True):
    """Task for a picture."""

    kind: Kind
    most_pixels: int
    most_bytes: int = 0
    clean: bool = False
    """True to return a clean PNG; False to check decoding only."""


def encode_task(task: Task, content: bytes) -> bytes:
    words = msgspec.json.encode(task)
    return HEAD.pack(len(words)) + words + content


def decode_task(sent: bytes) -> tuple[Task, bytes]:
    start = HEAD.size + int(HEAD.unpack_from(sent)[0])
    return msgspec.json.decode(sent[HEAD.size : start], type=Task), sent[start:]


def encode_answer(mark: bytes, content: bytes) -> bytes:
    return mark + HEAD.pack(len(content)) + content


def decode_answer(answer: bytes) -> bytes | None:
    """The result; None if the process broke off. Raises Unfit."""
    start = 1 + HEAD.size
    if len(answer) < start or len(answer) != start + int(HEAD.unpack_from(answer, 1)[0]):
        return None
    if answer[:1] == REFUSED:
        raise Unfit(answer[start:].decode("ascii", "replace"))
    return answer[start:]
