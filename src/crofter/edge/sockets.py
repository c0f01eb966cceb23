"""Web sockets that carry bytes to something that lasts, such as a serial console, and back."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from crofter.edge import headers, mounts
from crofter.edge.hub import Hub
from crofter.edge.limits import RateLimits
from crofter.edge.observe import Observer
from crofter.edge.perform import Answer, refused
from crofter.edge.problems import Fault, TooSlow, UpgradeRequired, status_of
from crofter.edge.receiving import Receive
from crofter.edge.sending import Send
from crofter.errors import NotFound, Problem, Unavailable

log = logging.getLogger("crofter")
T = TypeVar("T")

MAX_MESSAGE = 64 * 1024
"""Maximum size of a client message in bytes."""
PING_SECONDS = 20.0
"""Seconds between pings, and until a client without a pong counts as disconnected."""
IDLE_SECONDS = 30 * 60.0
TYPE_SECONDS = 5.0
"""Seconds after which untaken input is dropped and the bell rung."""
CHECK_SECONDS = 15.0
"""Between two looks at whether a client still may, if nothing happens to its account."""
THREADS = 8
BELL = b"\x07"
CLOSE = 4000
"""A refusal closes an open socket with this and the status that it would be answered with."""
LONGEST_REASON = 120
"""Bytes of the reason that a socket is closed for: what a frame has space for."""
IDLE = f"Nothing was typed for {IDLE_SECONDS / 60:.0f} minutes."
STOPPING = "The server is being stopped. Please try again in a moment."


class Session(Protocol):
    """Remote end of a socket. All members but ``topic`` are called in threads, several at once."""

    topic: str
    """Topic whose signals trigger a new check of the client's permission."""

    def read(self) -> bytes | None:
        """Return data for the client; empty if there is none now; None at the end."""

    def write(self, content: bytes) -> int:
        """From the client: how many bytes were taken."""

    def check(self) -> None:
        """Raises a Problem if the client may no longer."""

    def why_ended(self) -> Problem: ...
    def close(self) -> None: ...


class Admission(Protocol):
    def open(self, notify: Callable[[], None]) -> Session:
        """``notify``: called in any thread when there is something to read, or space to write. Raises a Problem."""


class Parts(Struct):
    """Components of a mount for sockets."""

    admit: Callable[[str], Admission]
    """From the secret in the address to what it opens; raises a Problem."""
    limits: RateLimits
    observer: Observer
    hub: Hub
    maintenance: str | None = None
    prepare_thread: Callable[[], None] = lambda: None


class Socket(Struct):
    """An open socket: its session, and the events that its loops await."""

    session: Session
    receive: Receive
    send: Send
    readable: asyncio.Event
    writable: asyncio.Event


class SocketMount:
    """``/<mount>/<secret>``: the address itself permits the connection, without a token.

    An invalid secret is refused before the socket opens. Later refusals close the open socket with a code and a reason,
    because browsers show pages these, but not a failed handshake.
    """

    def __init__(self, parts: Parts, request_prefix: str) -> None:
        self._parts = parts
        self._pool = ThreadPoolExecutor(THREADS, "socket", initializer=parts.prepare_thread)
        self._prefix = request_prefix
        self._serial = itertools.count(1)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await mounts.refuse(send, UpgradeRequired())
            return
        began = time.perf_counter()
        request_id = f"{self._prefix}-s{next(self._serial):x}"
        scope = {**scope, "method": "GET"}
        await receive()  # the connect message
        try:
            admission = await self._admit(scope)
        except Problem as problem:
            answer = refused(problem, None)
            await self._refuse(scope, send, answer, problem, request_id)
        else:
            await send({"type": "websocket.accept"})
            answer = await self._serve(admission, receive, send, request_id)
        self._parts.observer.request(scope, None, answer, request_id, time.perf_counter() - began)

    async def _admit(self, scope: Any) -> Admission:
        parts, address = self._parts, scope["client"][0] if scope.get("client") else ""
        await parts.limits.prepare("general", None, address)
        parts.limits.hit("general", address)
        if parts.maintenance is not None:
            raise Unavailable(parts.maintenance)
        _, _, secret = scope["path"].strip("/").partition("/")
        if not secret:
            raise NotFound
        return await self._run(partial(parts.admit, secret))

    async def _refuse(self, scope: Any, send: Send, answer: Answer, problem: Problem, request_id: str) -> None:
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": CLOSE + answer.status})
            return
        rate_status = getattr(problem, "rate_status", None) or self._parts.limits.unlimited()
        built = headers.build(None, answer, rate_status, request_id, scope.get("scheme") == "wss")
        built += [(b"content-length", b"%d" % len(answer.body)), (b"connection", b"close")]
        await send({"type": "websocket.http.response.start", "status": answer.status, "headers": built})
        await send({"type": "websocket.http.response.body", "body": answer.body})

    async def _serve(self, admission: Admission, receive: Receive, send: Send, request_id: str) -> Answer:
        try:
            await self._join(admission, receive, send)
        except Problem as problem:
            return await _close(send, problem)
        except OSError:
            pass  # the client is gone in the middle of a message
        except Exception:
            log.exception("request %s failed", request_id)
            return await _close(send, Fault())
        return Answer(101, b"")

    async def _join(self, admission: Admission, receive: Receive, send: Send) -> None:
        """Until the client leaves; else a Problem says why it is over."""
        loop = asyncio.get_running_loop()
        readable, writable = asyncio.Event(), asyncio.Event()

        def wake() -> None:
            readable.set()
            writable.set()

        def notify() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        session = await self._run(partial(admission.open, notify))
        socket = Socket(session, receive, send, readable, writable)
        try:
            await _until_first(self._bring(socket), self._take(socket), self._watch(socket))
        finally:
            await asyncio.shield(self._run(session.close))

    async def _bring(self, socket: Socket) -> None:
        """A client that does not read holds this up, and so the machine; it is cut off after a while."""
        while True:
            socket.readable.clear()
            content = await self._run(socket.session.read)
            if content is None:
                raise await self._run(socket.session.why_ended)
            if content:
                await socket.send({"type": "websocket.send", "bytes": content})
            else:
                await socket.readable.wait()

    async def _take(self, socket: Socket) -> None:
        """The next message is read from the connection only when this one was taken."""
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    message = await socket.receive()
            except TimeoutError:
                raise TooSlow(IDLE) from None
            if message["type"] == "websocket.disconnect":
                return
            await self._type(socket, message.get("bytes") or (message.get("text") or "").encode())

    async def _type(self, socket: Socket, content: bytes) -> None:
        while content:
            socket.writable.clear()
            taken = await self._run(partial(socket.session.write, content))
            content = content[taken:]
            if content and not taken:
                try:
                    async with asyncio.timeout(TYPE_SECONDS):
                        await socket.writable.wait()
                except TimeoutError:
                    await socket.send({"type": "websocket.send", "bytes": BELL})
                    return

    async def _watch(self, socket: Socket) -> None:
        hub = self._parts.hub
        with hub.watch(socket.session.topic) as waiter:
            while True:
                await waiter.wait(min(hub.poll, CHECK_SECONDS))
                if hub.closing:
                    raise Unavailable(STOPPING)
                try:
                    await self._run(socket.session.check)
                except Unavailable:
                    continue  # the store is away for a moment; nothing is known against the client
                socket.readable.set()  # what has happened may have been the end

    def _run(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._pool, call)


async def _until_first(*loops: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.ensure_future(loop) for loop in loops]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _close(send: Send, problem: Problem) -> Answer:
    reason = str(problem).encode()[:LONGEST_REASON].decode(errors="ignore")
    try:
        await send({"type": "websocket.close", "code": CLOSE + status_of(problem), "reason": reason})
    except OSError:
        pass  # already closed
    return refused(problem, None)
