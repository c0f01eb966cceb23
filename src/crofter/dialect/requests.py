"""Requests in the interface's own words: only names and words of the JSON change, every other byte stays."""

from __future__ import annotations

import json
import re

from crofter.dialect.shapes import Shape
from crofter.dialect.words import OWN, Words
from crofter.shapes import WordMark

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
MAX_DEPTH = 64
"""Deeper than any body that is taken."""


class _Frame:
    """An object or a list that is being read."""

    __slots__ = ("child", "is_object", "key_next", "shape")

    def __init__(self, shape: Shape | None, *, is_object: bool) -> None:
        self.shape = shape
        self.is_object = self.key_next = is_object
        self.child: Shape | None = None if is_object or shape is None else shape.item


def inward(raw: bytes, shape: Shape | None, words: Words) -> bytes:
    """Translate a body or a filter. Text that is not JSON stays: validation refuses it."""
    if shape is None or not (b"\\u" in raw or any(mark in raw for mark in words.marks)):
        return raw
    written: list[bytes] = []
    reached = 0
    frames: list[_Frame] = []
    top = _Frame(None, is_object=False)
    top.child = shape
    for token in _TOKEN.finditer(raw):
        frame = frames[-1] if frames else top
        text = token[0]
        if text[0] == 34:
            changed = _string(text, frame, words)
            if changed is not text:
                written += (raw[reached : token.start()], changed)
                reached = token.end()
        elif text in b"{[":
            frames.append(_Frame(frame.child, is_object=text == b"{"))
            if len(frames) > MAX_DEPTH:
                return raw
        elif text in b"}]":
            if frames:
                frames.pop()
        elif text == b",":
            frame.key_next = frame.is_object
    return b"".join((*written, raw[reached:]))


def _string(text: bytes, frame: _Frame, words: Words) -> bytes:
    """A name or a value in quotes; the very same, unless it changes."""
    if frame.key_next:
        frame.key_next = False
        return _name(text, frame, words)
    mark = frame.child.mark if frame.child is not None else None
    if mark is None or (plain := _decoded(text)) is None:
        return text
    if mark.where and "/" not in plain and not (mark.whole and plain.lower() in (OWN, words.word)):
        return text  # the order may differ from the patterns' here; user names contain no slash
    changed = swapped_suffix(plain, mark, words) if mark.suffix else words.inward(plain)
    return text if changed == plain else json.dumps(changed).encode()


def _name(text: bytes, frame: _Frame, words: Words) -> bytes:
    frame.child = None
    if frame.shape is None or (plain := _decoded(text)) is None:
        return text
    if not frame.shape.names:
        frame.child = frame.shape.child(plain)
        return text
    name = words.inward(plain)
    frame.child = frame.shape.child(name)
    return text if name == plain else json.dumps(name).encode()


def _decoded(text: bytes) -> str | None:
    try:
        return str(json.loads(text))
    except ValueError:
        return None


def swapped_suffix(text: str, mark: WordMark, words: Words) -> str:
    """Swap our suffix and the dialect's in a host name, so that either form is returned as it was sent."""
    theirs = mark.suffix.replace(OWN, words.word)
    for end, other in ((mark.suffix, theirs), (theirs, mark.suffix)):
        if text.lower().removesuffix(".").endswith(end):
            dot = "." if text.endswith(".") else ""
            return text[: -len(end + dot)] + other + dot
    return text
