"""Runs tests through a dialect: the server speaks the dialect, and the client translates requests and responses.

Every occurrence of the word is swapped with the dialect's word, in each request and response. User text is so stored
with the other word and restored; a word that the server failed to translate, or user text that it translated, reaches
the test as the wrong word.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx2

from tests.loopback import Loopback

FILE: Path | None = None
"""The dialect of all servers that tests start here, if they are to be run through one."""
_SEEN_BY_PROGRAMS = re.compile(rb"/(v4|v4beta)/|/(openapi\.json|docs|oauth/token)$|/\.well-known/")
_TRANSPARENT = ("content-length", "transfer-encoding", "host", "authorization")


def word(file: Path) -> str:
    return str(tomllib.loads(file.read_text())["words"]["compute"])


class Swap:
    """The word and the dialect's change places, in every spelling."""

    def __init__(self, theirs: str, own: str = "compute") -> None:
        pairs = [(own, theirs), (own.capitalize(), theirs.capitalize()), (own.upper(), theirs.upper())]
        self._other = {a.encode(): b.encode() for pair in pairs for a, b in (pair, pair[::-1])}
        self._either = re.compile(b"|".join(self._other))

    def __call__(self, sent: bytes) -> bytes:
        return self._either.sub(lambda match: self._other[match[0]], sent)


class _Swapped(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, swap: Swap) -> None:
        self._stream, self._swap = stream, swap

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            yield self._swap(part)

    def close(self) -> None:
        self._stream.close()


class Disguised(httpx2.BaseTransport):
    """Transport that translates requests into a dialect and responses back."""

    def __init__(self, file: Path) -> None:
        self._plain = Loopback()
        self._swap = Swap(word(file))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if not _SEEN_BY_PROGRAMS.match(request.url.raw_path.partition(b"?")[0]):
            return self._plain.handle_request(request)
        url = request.url.copy_with(raw_path=self._swap(request.url.raw_path))
        body = self._swap(request.read())
        sent = [(name, self._value(name, value)) for name, value in request.headers.raw]
        sent_request = httpx2.Request(
            request.method, url, headers=sent, content=body, extensions=dict(request.extensions)
        )
        answer = self._plain.handle_request(sent_request)
        answer.headers = httpx2.Headers([(name, self._value(name, value)) for name, value in answer.headers.raw])
        assert isinstance(answer.stream, httpx2.SyncByteStream)
        answer.stream = _Swapped(answer.stream, self._swap)
        return answer

    def _value(self, name: bytes, value: bytes) -> bytes:
        return value if name.decode().lower() in _TRANSPARENT else self._swap(value)

    def close(self) -> None:
        self._plain.close()
