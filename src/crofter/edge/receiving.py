"""Reading a request's body within bounds, so that its sender always gets to see the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from crofter.edge.endpoint import MAX_JSON
from crofter.edge.problems import TooLarge

Receive = Callable[[], Awaitable[Any]]

MOST_DISCARDED = 64 * 1024 * 1024
"""Bytes that are still read of a body that is too long: most clients look for an answer only once they sent all."""
LINGER_SECONDS = 5.0


class Gone(Exception):
    """The client disconnected before the request was complete."""


async def read_body(
    receive: Receive, sent: Mapping[bytes, bytes], limit: int = MAX_JSON, *, partly: bool = False
) -> bytes:
    """The whole body; TooLarge if it is longer than the endpoint takes.

    ``partly``: then a little more than the limit is given, for the endpoint to say in its own words.
    """
    length = sent.get(b"content-length", b"0")
    if length.isdigit() and int(length) > MOST_DISCARDED:
        raise TooLarge
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    body: bytes = message.get("body", b"")
    if not message.get("more_body") and (len(body) <= limit or partly):
        return body
    chunks, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        chunk = message.get("body", b"")
        if size <= limit:
            chunks.append(chunk)
        size += len(chunk)
        if size > MOST_DISCARDED:
            raise TooLarge
    if size > limit and not partly:
        raise TooLarge
    return b"".join(chunks)


async def discard(receive: Receive) -> None:
    """Read and discard the rest for a while: closing the connection at once could lose the response."""
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while (message := await receive())["type"] != "http.disconnect" and message.get("more_body"):
                pass
    except TimeoutError:
        pass
