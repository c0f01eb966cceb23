"""Responses in the words of the dialect: exact replacements in the JSON that the server writes.

A quote inside a JSON string follows a backslash, so that ``"name":"start`` can only be a key and its value, never text
that a user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from crofter.dialect.shapes import Shape
from crofter.dialect.words import HELD, OWN, Words
from crofter.edge import headers as edge_headers
from crofter.edge.endpoint import Endpoint
from crofter.edge.headers import Header
from crofter.edge.perform import Answer
from crofter.shapes import WordMark

_FLAT = rb'(?:"[a-z_]+":(?:"(?:[^"\\]|\\.)*"|[^",{}\[\]]*),)*?'
"""Fields of an object that are no lists and no objects."""


class Outward:
    """Translator of the responses of one endpoint."""

    def __init__(self, shape: Shape | None, words: Words) -> None:
        self._words = words
        self._patterns: dict[bytes, tuple[bytes, re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]]] = {}
        self._pairs: dict[bytes, bytes] = {}
        self._capitals: dict[bytes, bytes] = {}
        self._suffix: bytes | None = None
        for name, inner in shape.walk() if shape is not None else ():
            if OWN in name:
                self._pairs[_name(name)] = _name(words.outward(name))
            if inner is not None and inner.mark is not None:
                self._mark(name, inner.mark, is_list=inner.item is not None)
        self._common = self._most_common()

    def _most_common(self) -> list[tuple[bytes, bytes]]:
        """Return the replacements that suffice for most lists of events; the others are tried only if more is left."""
        action, kind, address = (
            f'"{name}":"{start}{OWN}'.encode() for name, start in (("action", ""), ("type", ""), ("url", "/v4/"))
        )
        if not {action, kind, address} <= self._pairs.keys():
            return []
        together = kind + b'",' + address, self._pairs[kind] + b'",' + self._pairs[address]
        return [together, (action, self._pairs.pop(action))]

    def _mark(self, name: str, mark: WordMark, *, is_list: bool) -> None:
        own, theirs = (spelling.encode() for spelling in self._words.spelling(capital=mark.capital))
        key = re.escape(_name(name))
        for start in mark.starts:
            before = _name(name) + f'"{start}'.encode()
            if mark.where:
                condition = rb'(?=[^"\\]*",%b%b)' % (_FLAT, re.escape(mark.where.encode()))
                pattern = rb"(%b)%b%b" % (re.escape(before), own, condition)
                self._add(before + own, pattern, lambda match: match[1] + theirs)
            elif mark.capital:
                self._capitals[before + own] = before + theirs
            else:
                self._pairs[before + own] = before + theirs
        if mark.anywhere:
            listed = rb"\[[^\]]*\]" if is_list else rb'"[^"\\]*"'
            self._add(_name(name), key + listed, lambda match: self._words.outward_bytes(match[0]))
        if mark.pattern:
            pattern = rb'(%b"%b)%b' % (key, mark.pattern.encode(), own)
            self._add(own, pattern, lambda match: match[1] + theirs)
        if mark.suffix:
            self._add_suffix(name, key, mark.suffix)

    def _add_suffix(self, name: str, key: bytes, own: str) -> None:
        theirs = own.replace(OWN, self._words.word)
        self._suffix = theirs.encode()
        other = {own.encode(): theirs.encode(), theirs.encode(): own.encode()}
        either = b"|".join(re.escape(end) for end in other)
        pattern = rb'(%b"[^"\\]*?)(%b)(\.?")' % (key, either)
        self._add(_name(name), pattern, lambda match: match[1] + other[match[2]] + match[3])

    def _add(self, literal: bytes, pattern: bytes, change: Callable[[re.Match[bytes]], bytes]) -> None:
        """Add a pattern. ``literal`` is part of every match, and is much faster to find."""
        self._patterns[pattern] = literal, re.compile(pattern), change

    def __call__(self, body: bytes) -> bytes:
        if b"ompute" not in body and (self._suffix is None or self._suffix not in body):
            return body
        if self._common:
            for own, theirs in self._common:
                body = body.replace(own, theirs)
            if b"ompute" not in body:
                return body
        for literal, pattern, change in self._patterns.values():
            if literal in body:
                body = pattern.sub(change, body)
        for own, theirs in self._pairs.items():
            body = body.replace(own, theirs)
        if self._capitals and b"Compute" in body:
            for own, theirs in self._capitals.items():
                body = body.replace(own, theirs)
        return body


def _name(name: str) -> bytes:
    return f'"{name}":'.encode()


def refusal(body: bytes, words: Words) -> bytes:
    """Translate the body of an error. Its fields and reasons belong to the interface, at every endpoint."""
    if not (b"ompute" in body or HELD.encode() in body):
        return body
    answer = msgspec.json.decode(body)
    for error in answer.get("errors", ()):
        for name in ("field", "reason"):
            if isinstance(error.get(name), str):
                error[name] = words.outward(error[name])
    return msgspec.json.encode(answer)


def headers(words: Words) -> Callable[..., list[Header]]:
    """Builds headers of which those that name scopes, paths or the interface itself are in the dialect's words."""

    @lru_cache(1024)
    def value(sent: bytes) -> bytes:
        return words.outward(sent.decode("latin-1")).encode("latin-1", "replace")

    def build(endpoint: Endpoint | None, answer: Answer, *more: Any) -> list[Header]:
        built = edge_headers.build(endpoint, answer, *more)
        if answer.problem is None and not answer.headers and not (endpoint and endpoint.deprecated):
            places: Iterable[int] = SCOPES
        else:
            places = range(len(built))
        for place in places:
            name, sent = built[place]
            if name in NAMES and b"ompute" in sent:
                built[place] = name, value(sent)
        return built

    return build


SCOPES = (1, 2)
"""Where the headers about scopes are, among those of every answer."""
NAMES = frozenset((b"x-oauth-scopes", b"x-accepted-oauth-scopes", b"www-authenticate", b"warning", b"link"))


def document(text: str, words: Words) -> str:
    """Translate the description of the interface, which contains no user text."""
    return words.outward(text).replace(f"{OWN}usercontent", f"{words.word}usercontent")
