"""Mounts beside the interface: health, version, metrics, the interface description; and routing of their paths."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import Any, Protocol, TypeVar

import msgspec

from crofter import SPEC_VERSION, __version__
from crofter.edge.arguments import origin_of
from crofter.edge.problems import MethodNotAllowed, body_of, status_of
from crofter.errors import NotFound, Problem

T = TypeVar("T")
Scope = Any
Receive = Any
Send = Any

NOTHING_FROM_OUTSIDE = (
    b"content-security-policy",
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
COME_BACK = (b"retry-after", b"1")
NO_SNIFF = (b"x-content-type-options", b"nosniff")


async def reply(
    send: Send, status: int, body: bytes, content_type: str = "application/json", *more: tuple[bytes, bytes]
) -> None:
    sent = [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body)), NO_SNIFF, *more]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls ``make`` on first use, exactly once, even from many threads."""
    kept, lock = cache(make), Lock()

    def made() -> T:
        with lock:
            return kept()

    return made


def by_path(routes: Mapping[str, Mapping[str, T]], method: str, path: str) -> T:
    """Return the handler for a path and method; trailing slashes are ignored."""
    handlers = routes.get(path.rstrip("/"))
    if handlers is None:
        raise NotFound
    return by_method(handlers, method)


def by_method(handlers: Mapping[str, T], method: str) -> T:
    handler = handlers.get("GET" if method == "HEAD" else method)
    if handler is None:
        raise MethodNotAllowed(sorted(handlers.keys() | ({"HEAD"} if "GET" in handlers else set())))
    return handler


async def refuse(send: Send, problem: Problem) -> None:
    allow = [(b"allow", problem.allowed.encode())] if isinstance(problem, MethodNotAllowed) else []
    await reply(send, status_of(problem), body_of(problem.reasons), "application/json", *allow)


_THREADS = ThreadPoolExecutor(4, "page")
"""Separate threads, so that a health check does not queue behind slow calls of the sandbox."""

Page = Callable[[], tuple[Any, ...]]
"""Makes status, body, content type and more headers. Called in a thread, since it may look at the database."""


def _pages(find: Callable[[str, str], Page]) -> Any:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            make = find(scope["method"], scope["path"])
        except Problem as problem:
            await refuse(send, problem)
            return
        status, body, content_type, *more = await asyncio.get_running_loop().run_in_executor(_THREADS, make)
        await reply(send, status, body if scope["method"] == "GET" else b"", content_type, *more)

    return app


def page_at(make: Callable[[str], tuple[Any, ...]]) -> Any:
    """Return an app for a page that contains its own address; the address is empty if the request's is invalid."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        await page(partial(make, origin_of(scope.get("scheme", "http"), host)))(scope, receive, send)

    return app


def page(make: Page) -> Any:
    """Return an app for a page and all paths below."""
    return _pages(lambda method, _path: by_method({"GET": make}, method))


class Ready(Protocol):
    """Says of each part of a process whether it can do its work."""

    needed: frozenset[str]

    def parts(self) -> dict[str, bool]: ...


def readiness(ready: Ready) -> tuple[Any, ...]:
    """200 while all parts work that are needed to serve; ``degraded`` if another one does not."""
    parts = ready.parts()
    good = all(works for name, works in parts.items() if name in ready.needed)
    status = "unavailable" if not good else "ok" if all(parts.values()) else "degraded"
    body = msgspec.json.encode({"status": status, "parts": parts})
    return 200 if good else 503, body, "application/json", *(() if good else (COME_BACK,))


def health(ready: Ready) -> Any:
    """``/health/live`` says that the process runs, ``/health/ready`` that it can serve, writes included."""

    def serving() -> tuple[Any, ...]:
        return readiness(ready)

    # Liveness uses no thread: all threads may be blocked.
    pages = _pages(partial(by_path, {"/health/live": {"GET": _live}, "/health/ready": {"GET": serving}}))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/health/live" and scope["method"] == "GET":
            await reply(send, *_live())
        else:
            await pages(scope, receive, send)

    return app


def _live() -> tuple[int, bytes, str]:
    return 200, b'{"status":"ok"}', "application/json"


def version() -> Any:
    body = msgspec.json.encode({"version": __version__, "interface": SPEC_VERSION})
    return page(lambda: (200, body, "application/json"))


def metrics(numbers: Callable[[], bytes]) -> Any:
    return page(lambda: (200, numbers(), "text/plain; version=0.0.4; charset=utf-8"))
