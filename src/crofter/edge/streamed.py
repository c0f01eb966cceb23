"""Large files that are sent to an address of their own: read piece by piece, within bounds, and never held whole."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from crofter.edge import headers
from crofter.edge.limits import RateLimits, RateLimitStatus
from crofter.edge.mounts import by_method
from crofter.edge.observe import Observer
from crofter.edge.perform import Answer, refused
from crofter.edge.problems import Fault, TooLarge, TooSlow
from crofter.edge.receiving import Gone, Receive, discard
from crofter.edge.sending import Send, part
from crofter.errors import NotFound, Problem, Unavailable

log = logging.getLogger("crofter")
T = TypeVar("T")

MOST_BYTES = 5 * 1024**3
AT_ONCE = 8
"""Maximum number of simultaneous files per process."""
PIECE = 1024 * 1024
"""Bytes that are gathered before a thread looks at them."""
IDLE_SECONDS = 30.0
"""A sender that sends nothing for so long is cut off."""
GRACE_SECONDS = 60.0
LEAST_RATE = 64 * 1024
"""Bytes a second that a sender must reach, once the grace is over: otherwise a few slow ones would take every place."""
LONGEST_SECONDS = 6 * 3600.0


class Sink(Protocol):
    """Receiver of a file. Called in threads, one call at a time."""

    def write(self, content: bytes) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


class Parts:
    """Components of a mount for files."""

    def __init__(
        self,
        open_sink: Callable[[str], Sink],
        limits: RateLimits,
        observer: Observer,
        *,
        maintenance: str | None = None,
        prepare_thread: Callable[[], None] = lambda: None,
    ) -> None:
        self.open_sink = open_sink
        self.limits = limits
        self.observer = observer
        self.maintenance = maintenance
        self.prepare_thread = prepare_thread


class StreamedUploads:
    """``PUT /<mount>/<secret>``: the address itself permits the upload of a file, without a token."""

    def __init__(self, parts: Parts, request_prefix: str) -> None:
        self._parts = parts
        self._pool = ThreadPoolExecutor(AT_ONCE, "upload", initializer=parts.prepare_thread)
        self._under_way = 0
        self._prefix = request_prefix
        self._serial = itertools.count(1)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        request_id = f"{self._prefix}-u{next(self._serial):x}"
        rate_status: RateLimitStatus | None = None
        try:
            answer = await self._answer(scope, receive)
        except Problem as problem:
            rate_status = getattr(problem, "rate_status", None)
            answer = refused(problem, None)
        except Gone:
            return
        except Exception:
            log.exception("request %s failed", request_id)
            answer = refused(Fault(), None)
        shown = rate_status or self._parts.limits.unlimited()
        built = headers.build(None, answer, shown, request_id, scope.get("scheme") == "https")
        await _send(answer, [*built, (b"content-length", b"%d" % len(answer.body))], receive, send)
        self._parts.observer.request(scope, None, answer, request_id, time.perf_counter() - began)

    async def _answer(self, scope: Any, receive: Receive) -> Answer:
        parts, address = self._parts, scope["client"][0] if scope.get("client") else ""
        await parts.limits.prepare("general", None, address)
        parts.limits.hit("general", address)
        if parts.maintenance is not None:
            raise Unavailable(parts.maintenance)
        if by_method({"PUT": True, "OPTIONS": False}, scope["method"]):
            _, _, secret = scope["path"].strip("/").partition("/")
            if not (secret.isascii() and secret.isalnum()):
                raise NotFound
            if _length(dict(scope["headers"])) > MOST_BYTES:
                raise TooLarge
            if self._under_way >= AT_ONCE:
                raise Unavailable
            self._under_way += 1
            try:
                await self._take(secret, receive)
            finally:
                self._under_way -= 1
        return Answer(200, b"{}")

    async def _take(self, secret: str, receive: Receive) -> None:
        sink = await self._run(partial(self._parts.open_sink, secret))
        try:
            await self._pass_on(sink, receive)
            await self._run(sink.finish)
        except BaseException:
            # Even if this request is cancelled because the server stops.
            await asyncio.shield(self._run(sink.abandon))
            raise

    async def _pass_on(self, sink: Sink, receive: Receive) -> None:
        """Pass the body to the sink in pieces. The next piece is read after the last was written."""
        pieces: list[bytes] = []
        held = received = 0
        waited = 0.0
        more = True
        while more:
            asked = time.monotonic()
            message = await _next(receive)
            waited += time.monotonic() - asked
            more = message.get("more_body", False)
            pieces.append(message.get("body", b""))
            held += len(pieces[-1])
            received += len(pieces[-1])
            if received > MOST_BYTES:
                raise TooLarge
            if waited > LONGEST_SECONDS or received < (waited - GRACE_SECONDS) * LEAST_RATE:
                raise TooSlow
            if held >= PIECE or not more:
                await self._run(partial(sink.write, b"".join(pieces)))
                pieces, held = [], 0

    def _run(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._pool, call)


async def _next(receive: Receive) -> Any:
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            message = await receive()
    except TimeoutError:
        raise TooSlow from None
    if message["type"] == "http.disconnect":
        raise Gone
    return message


def _length(sent: Mapping[bytes, bytes]) -> int:
    length = sent.get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


async def _send(answer: Answer, built: list[tuple[bytes, bytes]], receive: Receive, send: Send) -> None:
    """Send the response and end the connection: the rest of a refused body would be read as the next request."""
    refusal = answer.problem is not None
    if refusal:
        built.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": built})
    await send(part(answer.body, more=refusal))
    if refusal:
        await discard(receive)
        await send(part(b"", more=False))
