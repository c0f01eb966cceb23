"""The ASGI application: from bytes on a connection to a performed request and back."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import parse_qs

from msgspec import Struct

from crofter.edge import headers, streams, unplanned
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.hub import Hub
from crofter.edge.limits import RateLimits, RateLimitStatus
from crofter.edge.observe import Observer
from crofter.edge.perform import Answer, Performer, bearer, refused
from crofter.edge.problems import Fault, MethodNotAllowed, TooLarge
from crofter.edge.proxy import reveal
from crofter.edge.receiving import Gone, discard, read_body
from crofter.edge.repeats import Repeats
from crofter.edge.router import Router
from crofter.edge.sending import PIECE, Unread, part, send_in_pieces, send_read
from crofter.edge.threads import Threads
from crofter.edge.turns import Turns
from crofter.errors import NotFound, Problem, TooMany, Unavailable, UnderWay

log = logging.getLogger("crofter")

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_WAIT = 60
READERS = 2
"""Files that are read at the same moment: with more, those who download would keep the event loop to themselves."""


class CountsReads(Protocol):
    """Counter of reads of objects in transition, in sandbox mode."""

    on: bool
    """True if any object is in such a transition."""

    def ends_now(self, path: str, account_id: int) -> bool:
        """An object was read. Whether what was under way has ended with that, so that it is to be read again."""


class Parts(Struct):
    """Components of the application."""

    router: Router
    performer: Performer
    limits: RateLimits
    hub: Hub
    observer: Observer
    mounts: Mapping[str, ASGIApp] = {}
    """Whole applications behind the first segment of a path: health, docs, the sandbox."""
    streamed: frozenset[str] = frozenset()
    """Mounts that receive files of any length, with deadlines of their own."""
    sockets: frozenset[str] = frozenset()
    """Mounts that serve web sockets."""
    fault: Callable[[str, str], int | None] = lambda _method, _path: None
    """A status that the next matching call is made to answer with, in sandbox mode."""
    reads: CountsReads | None = None
    on_start: tuple[Callable[[], None], ...] = ()
    on_stop: tuple[Callable[[], None], ...] = ()
    max_requests: int = 512
    threads: int = 8
    maintenance: str | None = None
    last_known: Performer | None = None
    """Performer that serves the cached catalogue while the database is unavailable."""


class App:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.threads = Threads(parts.performer, parts.threads)
        self._proxied = parts.performer.runtime.settings.behind_proxy
        self._boot = parts.performer.runtime.rng.hex(8)
        self._serial = itertools.count(1)
        self._busy = 0
        self._unread = Unread()
        self._readers = asyncio.Semaphore(READERS)
        self._repeats = Repeats(self._resting)
        self._turns = Turns()

    def mounted(self, mounts: Mapping[str, ASGIApp]) -> Mapping[str, ASGIApp]:
        """Applications that are to be mounted, as they are to be served."""
        return mounts

    def in_words(self, page: str) -> str:
        """A page about the interface, in the words that callers use."""
        return page

    def described(self, document: str) -> str:
        """The OpenAPI document, as callers find the interface."""
        return document

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def takes_upload(self, method: str, raw_path: bytes) -> bool:
        """True if the endpoint receives files, which takes time."""
        match = self.parts.router.match(method, raw_path)
        return match is not None and match.endpoint is not None and match.endpoint.upload is not None

    def takes_stream(self, raw_path: bytes) -> bool:
        """True if the path receives a stream, which may take hours."""
        return _first_segment(raw_path) in self.parts.streamed

    def takes_socket(self, raw_path: bytes) -> bool:
        return _first_segment(raw_path) in self.parts.sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if self._proxied:
            reveal(scope)
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket" and self.takes_socket(scope["raw_path"]):
            await self.parts.mounts[_first_segment(scope["raw_path"])](scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.parts.hub.open()
        self.threads.open()
        loop = asyncio.get_running_loop()
        for action in self.parts.on_start:
            await loop.run_in_executor(None, action)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.parts.hub.close()
        for action in self.parts.on_stop:
            await loop.run_in_executor(None, action)
        self.threads.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        mount = _first_segment(raw_path)
        if mount not in ("v4", "v4beta") and mount in self.parts.mounts:
            await self.parts.mounts[mount](scope, receive, send)
            return
        began = time.perf_counter()
        request_id = f"{self._boot}-{next(self._serial):x}"
        endpoint: Endpoint | None = None
        rate_status: RateLimitStatus | None = None
        self._busy += 1
        try:
            if not self._turns.has_capacity(began):
                with self._resting():
                    await self._turns.wait(began)
            match = self.parts.router.match(scope["method"], raw_path)
            if scope["method"] == "OPTIONS":
                answer = Answer(200, b"{}")
            elif match is None:
                raise NotFound(unplanned.reason(raw_path))
            elif match.endpoint is None:
                raise MethodNotAllowed(match.allowed)
            else:
                endpoint = match.endpoint
                answer, rate_status = await self._endpoint(endpoint, match.values, scope, receive, request_id)
        except Problem as problem:
            rate_status = getattr(problem, "rate_status", None)
            answer = refused(problem, None)
        except Gone:
            return
        except Exception:
            log.exception("request %s failed", request_id)
            answer = refused(Fault(), None)
        finally:
            self._busy -= 1  # before sending: a slow client must not occupy a slot
        if answer.stream is not None and scope["method"] != "HEAD":
            answer = await self._stream(endpoint, answer, scope, receive, send, request_id)
        else:
            await self._send(endpoint, answer, rate_status, scope, receive, send, request_id)
        self.parts.observer.request(scope, endpoint, answer, request_id, time.perf_counter() - began)

    async def _endpoint(
        self, endpoint: Endpoint, values: dict[str, Any], scope: Scope, receive: Receive, request_id: str
    ) -> tuple[Answer, RateLimitStatus]:
        sent = dict(scope["headers"])
        address = _peer(scope)
        token = bearer(sent.get(b"authorization")) or None
        arrived = time.monotonic()
        if self.parts.limits.shared:
            await self.parts.limits.prepare(endpoint.rate, token, address, endpoint.weight)
        rate_status, charged = self.parts.limits.admit(endpoint.rate, token, address, endpoint.weight)
        if self._busy > self.parts.max_requests:
            raise Unavailable
        if self.parts.maintenance is not None:
            answer = refused(Unavailable(self.parts.maintenance), None)
            answer.headers = [(b"x-maintenance-mode", self.parts.maintenance.encode("ascii", "replace"))]
            return answer, rate_status
        path = scope["path"]
        forced = self.parts.fault(scope["method"], path)
        if forced is not None:
            return streams.forced(forced), rate_status
        waited = time.monotonic() - arrived
        partly = endpoint.upload is not None and endpoint.upload_type.heard_out
        body = await read_body(receive, sent, endpoint.max_body, partly=partly) if endpoint.writes else b""
        request = Request(
            scope["method"],
            scope["raw_path"],
            scope["query_string"],
            sent,
            body,
            address,
            request_id,
            scope.get("scheme", "http"),
            waited,
        )
        if endpoint.waits and b"wait=" in request.query:
            answer = await self._wait(endpoint, values, request, receive)
        else:
            answer = await self.perform(endpoint, values, request)
        reads = self.parts.reads
        if reads is not None and reads.on and await self._ends_with(reads, answer, scope):
            answer = await self.perform(endpoint, values, request)
        if answer.status < 500:  # else nothing is known about the token
            self.parts.limits.record_token(token, address, charged=charged, good=answer.actor is not None)
        elif isinstance(answer.problem, Unavailable) and self._is_known(endpoint, token):
            assert self.parts.last_known is not None
            answer = self.parts.last_known.perform(endpoint, values, request)
        return answer, rate_status

    async def _ends_with(self, reads: CountsReads, answer: Answer, scope: Scope) -> bool:
        """True if the object's transition has ended after enough reads."""
        if answer.status != 200 or answer.actor is None or scope["method"] != "GET":
            return False
        return await self._loop.run_in_executor(None, reads.ends_now, scope["path"], answer.actor.account_id)

    def _is_known(self, endpoint: Endpoint, token: str | None) -> bool:
        """True if the cached catalogue can serve the request while the database is unavailable."""
        known = endpoint.catalogue == "everybody" or (endpoint.catalogue == "strangers" and not token)
        return known and self.parts.last_known is not None

    async def perform(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> Answer:
        answer = await self._perform(endpoint, values, request)
        if isinstance(answer.problem, UnderWay):
            answer = await self._repeats.answer(answer, lambda: self._perform(endpoint, values, request))
        if answer.two_phase is not None or answer.read_after is not None:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.threads.pool, self.parts.performer.finish, endpoint, request, answer)
        return answer

    async def _perform(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> Answer:
        known = endpoint.catalogue and self._is_known(endpoint, bearer(request.headers.get(b"authorization")))
        return await self.threads.perform(endpoint, values, request, elsewhere=bool(known))

    async def _wait(self, endpoint: Endpoint, values: dict[str, Any], request: Request, receive: Receive) -> Answer:
        """A long poll: answered as soon as the list is not empty, or when the time is up."""
        answer = await self.perform(endpoint, values, request)
        asked = parse_qs(request.query.decode("latin-1")).get("wait", ["0"])[-1]
        seconds = min(int(asked), MAX_WAIT) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0
        if answer.status != 200 or answer.rows or not seconds or answer.actor is None:
            return answer
        hub = self.parts.hub
        until = time.monotonic() + seconds
        gone = asyncio.ensure_future(streams.disconnected(receive))
        try:
            with hub.watch(f"events:{answer.actor.account_id}") as waiter:
                gone.add_done_callback(lambda _gone: waiter.wake())
                while True:
                    # Looked up once the waiter is registered: else what commits in between would go unnoticed.
                    answer = await self.perform(endpoint, values, request)
                    left = until - time.monotonic()
                    if answer.status != 200 or answer.rows or left <= 0 or hub.closing:
                        return answer
                    with self._resting():
                        await waiter.wait(min(left, hub.poll))
                    if gone.done():
                        raise Gone
        except TooMany as problem:
            return refused(problem, answer.actor)
        finally:
            gone.cancel()

    async def _stream(
        self, endpoint: Endpoint | None, answer: Answer, scope: Scope, receive: Receive, send: Send, request_id: str
    ) -> Answer:
        assert answer.stream is not None
        stream = answer.stream
        performer = self.parts.performer
        loop = asyncio.get_running_loop()

        async def fetch(position: Any) -> Any:
            presented = bearer(dict(scope["headers"]).get(b"authorization")) or ""
            return await loop.run_in_executor(self.threads.pool, streams.fetch, performer, stream, presented, position)

        hub = self.parts.hub
        try:
            with hub.watch(stream.topic) as waiter:
                answer.content_type = "text/event-stream"
                built = self._headers(endpoint, answer, self.parts.limits.unlimited(), scope, request_id)
                await send({"type": "http.response.start", "status": 200, "headers": built})
                await streams.run(stream, fetch, hub, waiter, receive, send)
        except TooMany as problem:
            answer = refused(problem, answer.actor)
            await self._send(endpoint, answer, None, scope, receive, send, request_id)
        return answer

    @contextmanager
    def _resting(self) -> Iterator[None]:
        """Release the request's slot while it only waits."""
        self._busy -= 1
        try:
            yield
        finally:
            self._busy += 1

    async def _send(
        self,
        endpoint: Endpoint | None,
        answer: Answer,
        rate_status: RateLimitStatus | None,
        scope: Scope,
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        size = answer.download.size if answer.download else len(answer.body)
        if size > PIECE and self._unread.full(_peer(scope)):
            answer = refused(Unavailable(), answer.actor)
            size = len(answer.body)
        limit = rate_status or self.parts.limits.unlimited()
        built = self._headers(endpoint, answer, limit, scope, request_id)
        if answer.status != 204:
            built.append((b"content-length", b"%d" % size))
        too_large = isinstance(answer.problem, TooLarge)
        if too_large:
            built.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": built})
        if too_large:
            await send(part(answer.body, more=True))
            await discard(receive)
            await send(part(b"", more=False))
        elif scope["method"] == "HEAD":
            await send(part(b"", more=False))
        elif size <= PIECE and answer.download is None:
            await send(part(answer.body, more=False))
        else:
            await self._send_long(answer, size, scope, send)

    def _headers(
        self, endpoint: Endpoint | None, answer: Answer, limit: RateLimitStatus, scope: Scope, request_id: str
    ) -> list[headers.Header]:
        return headers.build(endpoint, answer, limit, request_id, is_secure(scope))

    async def _send_long(self, answer: Answer, size: int, scope: Scope, send: Send) -> None:
        peer, download = _peer(scope), answer.download
        if download is None:
            with self._unread.counted(peer, size):
                await send_in_pieces(send, answer.body)
            return

        async def read(start: int) -> bytes:
            async with self._readers:
                reading = self.parts.performer.read
                return await self._loop.run_in_executor(self.threads.pool, reading, download, answer.actor, start)

        with self._unread.counted(peer, 2 * PIECE):
            await send_read(send, size, read)


def _first_segment(raw_path: bytes) -> str:
    return raw_path[1:].split(b"/", 1)[0].decode("latin-1")


def _peer(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def is_secure(scope: Scope) -> bool:
    """True if the request came over TLS, to this server or to the proxy in front of it."""
    return bool(scope.get("scheme") == "https")
