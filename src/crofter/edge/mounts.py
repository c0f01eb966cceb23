"""The plain doors beside the interface: health, version, metrics, the description of the interface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import msgspec

from crofter import SPEC_VERSION, __version__
from crofter.edge.problems import body_of
from crofter.errors import Reason

T = TypeVar("T")
Scope = Any
Receive = Any
Send = Any

NOTHING_FROM_OUTSIDE = (
    b"content-security-policy",
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
NO_SNIFF = (b"x-content-type-options", b"nosniff")


async def reply(
    send: Send, status: int, body: bytes, content_type: str = "application/json", *more: tuple[bytes, bytes]
) -> None:
    sent = [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body)), NO_SNIFF, *more]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Made when it is first asked for, and a single time, however many ask at once."""
    kept, lock = cache(make), Lock()

    def made() -> T:
        with lock:
            return kept()

    return made


def page(make: Callable[[], tuple[Any, ...]]) -> Any:
    """A door with one page behind it: status, body, content type and more headers.

    Made in a thread, since it may look at the database.
    """

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await reply(
                send, 405, body_of([Reason("Method Not Allowed")]), "application/json", (b"allow", b"GET, HEAD")
            )
            return
        status, body, content_type, *more = await asyncio.get_running_loop().run_in_executor(None, make)
        await reply(send, status, body if scope["method"] == "GET" else b"", content_type, *more)

    return app


def health(ready: Callable[[], dict[str, bool]]) -> Any:
    """``/health/live`` says that the process runs, ``/health/ready`` that it can serve."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        if path == "/health/live":
            await reply(send, 200, b'{"status":"ok"}')
        elif path == "/health/ready":
            parts = await asyncio.get_running_loop().run_in_executor(None, ready)
            good = all(parts.values())
            body = msgspec.json.encode({"status": "ok" if good else "unavailable", "parts": parts})
            await reply(send, 200 if good else 503, body)
        else:
            await reply(send, 404, body_of([Reason("Not found")]))

    return app


def version() -> Any:
    body = msgspec.json.encode({"version": __version__, "interface": SPEC_VERSION})
    return page(lambda: (200, body, "application/json"))


def metrics(numbers: Callable[[], bytes]) -> Any:
    return page(lambda: (200, numbers(), "text/plain; version=0.0.4; charset=utf-8"))
