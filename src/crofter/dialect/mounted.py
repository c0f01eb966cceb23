"""Translation of mounted applications: the part of the login service that programs use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from crofter.dialect.file import Dialect
from crofter.dialect.words import OWN, Words
from crofter.edge.app import ASGIApp, Receive, Scope, Send

_SCOPE = re.compile(rb"(?:(?<=&)|^)scopes?=[^&]*")
"""In a query, or in a form."""
LOGIN = ("login", "oauth", ".well-known")


def mounted(mounts: Mapping[str, ASGIApp], dialect: Dialect) -> Mapping[str, ASGIApp]:
    """Return the applications in the words of the dialect."""
    words = dialect.words
    return mounts if words is None else {**mounts, **{name: _LoginInWords(mounts[name], words) for name in LOGIN}}


class _LoginInWords:
    """Translates scopes in requests and responses. Pages for people stay unchanged, and their forms send scopes back as
    rendered, so the interface's own words are accepted too.
    """

    def __init__(self, app: ASGIApp, words: Words) -> None:
        self._words = words
        self._answering = _changed(app, lambda body: words.outward(body.decode()).encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_in_words() -> Any:
            message = await receive()
            return {**message, "body": self._own(message["body"])} if message.get("body") else message

        scope = {**scope, "query_string": self._own(scope["query_string"])}
        await self._answering(scope, receive_in_words, send)

    def _own(self, pairs: bytes) -> bytes:
        return _SCOPE.sub(lambda match: match[0].replace(self._words.word.encode() + b"s", OWN.encode() + b"s"), pairs)


def _changed(app: ASGIApp, change: Callable[[bytes], bytes]) -> ASGIApp:
    """An application whose answers in JSON are changed as a whole."""

    async def changed(scope: Scope, receive: Receive, send: Send) -> None:
        started: list[Any] = []
        parts: list[bytes] = []

        async def collect(message: Any) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            start, body = started[0], b"".join(parts)
            sent = dict(start["headers"])
            if sent.get(b"content-type", b"").startswith(b"application/json"):
                body = change(body)
            length = sent.get(b"content-length")
            if length is not None and scope["method"] != "HEAD":
                kept = [header for header in start["headers"] if header[0] != b"content-length"]
                start = {**start, "headers": [*kept, (b"content-length", b"%d" % len(body))]}
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await app(scope, receive, collect)

    return changed
