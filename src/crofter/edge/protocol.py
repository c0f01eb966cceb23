"""HTTP/1.1 on one connection: uvicorn's protocol with bounds on what a peer may send, hold and leave unread."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crofter.edge.problems import body_of
from crofter.edge.unread import WriteWatch
from crofter.errors import Reason

RECEIVE_SECONDS = 10.0
UPLOAD_SECONDS = 60.0
CONNECTIONS_PER_PEER = 256
MAX_HEAD = 64 * 1024
"""Bytes of a request's address, headers and trailers."""
MAX_FIELDS = 200
"""Headers and trailers of a request."""
MAX_PIPELINED = 16
"""Requests that may wait on a connection behind the one that is being answered."""
UPLOADS = (b"multipart/", b"image/")


def _closing_response(status: bytes, reason: str) -> bytes:
    """An answer in the interface's form to what never became a request; the connection ends with it."""
    body = body_of([Reason(reason)])
    return b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


_TOO_LATE = _closing_response(b"408 Request Timeout", "Request took too long to arrive")
_TOO_MUCH = _closing_response(b"431 Request Header Fields Too Large", "Request headers are too large")
_TOO_MANY = _closing_response(b"429 Too Many Requests", "Too many requests are waiting on this connection")
_NO_REQUEST = _closing_response(b"400 Bad Request", "Invalid HTTP request")


class BoundedProtocol(WriteWatch, HttpToolsProtocol):
    """uvicorn waits for ever for a request to arrive and for an answer to be read, and takes any headers."""

    receive_seconds = RECEIVE_SECONDS
    per_peer: Counter[str] = Counter()
    _alarm: asyncio.TimerHandle | None = None
    _peer = ""
    _head = 0
    _fields = 0
    _unnamed = 0
    """Bytes since the last event of the parser: usually of an unfinished header."""
    _headed = False
    _running: Any = None
    """The request that is being answered. uvicorn remembers the one that came last, which may wait behind it."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        waiting = getattr(self.config, "waiting_connections", None)
        if waiting is not None:
            waiting.accept(self.loop, self._another, self.config.ssl)
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.per_peer[self._peer] += 1
        if self.per_peer[self._peer] > CONNECTIONS_PER_PEER:
            transport.close()
        else:
            self._arm(self.receive_seconds)

    def _another(self) -> BoundedProtocol:
        return type(self)(self.config, self.server_state, self.app_state, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.pipeline.clear()
        self._forget_peer()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True  # or it would go on writing, into a connection that is closed
            self._running.message_event.set()
        super().connection_lost(exc)

    def _forget_peer(self) -> None:
        self.per_peer[self._peer] -= 1
        if not self.per_peer[self._peer]:
            del self.per_peer[self._peer]

    # incoming data

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._alarm is None and (self.cycle is None or self.cycle.response_complete):
            self._arm(self.receive_seconds)
        self._unnamed += len(data)
        super().data_received(data)
        if self._head + self._unnamed > MAX_HEAD:
            self._leave(_TOO_MUCH)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = self._fields = self._unnamed = 0
        self._headed = False

    def on_url(self, url: bytes) -> None:
        self._measure(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._measure(len(name) + len(value))
        # A trailer is no header: a proxy that has looked at the headers has not looked at it.
        if not self._headed:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._unnamed = 0
        super().on_body(body)

    def _measure(self, size: int) -> None:
        self._unnamed = 0
        self._head += size
        if self._too_much:
            raise ValueError  # the parser stops here, and says so to send_400_response

    @property
    def _too_much(self) -> bool:
        return self._head > MAX_HEAD or self._fields > MAX_FIELDS

    def on_headers_complete(self) -> None:
        self._headed = True
        self._must_be_unambiguous()
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle
        if self.parser.should_upgrade() and self._should_upgrade():
            return
        if len(self.pipeline) > MAX_PIPELINED:
            self._leave(_TOO_MANY)
        elif self._alarm is not None and self._is_stream():
            self._disarm()  # the reader of the body enforces the rate from here on
        elif self._alarm is not None and self._is_upload():
            self._disarm()
            self._arm(max(UPLOAD_SECONDS, self.receive_seconds))

    def _must_be_unambiguous(self) -> None:
        """Refuse what a proxy in front of us may read otherwise than we do: whose request it is, and where it ends."""
        hosts = tokens = 0
        for name, value in self.headers:
            if name == b"host":
                hosts += 1
            elif name == b"authorization":
                tokens += 1
            elif name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                raise ValueError(value)
        if hosts > 1 or tokens > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise ValueError(hosts)

    def _is_upload(self) -> bool:
        """True if the request uploads a file, which may take longer to arrive."""
        takes_upload = getattr(self.config.loaded_app, "takes_upload", None)
        return (
            takes_upload is not None
            and any(name == b"content-type" and value.startswith(UPLOADS) for name, value in self.headers)
            and takes_upload(self.scope["method"], self.scope["raw_path"])
        )

    def _is_stream(self) -> bool:
        takes_stream = getattr(self.config.loaded_app, "takes_stream", None)
        return takes_stream is not None and takes_stream(self.scope["raw_path"])

    # ---- web sockets ------------------------------------------------------------------------------------------------

    def _should_upgrade(self) -> bool:
        """Only where there is a web socket. Everywhere else such a request is answered as any other."""
        takes_socket = getattr(self.config.loaded_app, "takes_socket", None)
        if takes_socket is None or self.scope["method"] != "GET" or not takes_socket(self.url):
            return False
        return super()._should_upgrade()

    def handle_websocket_upgrade(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._leave(_NO_REQUEST)  # two answers would be written into each other
            return
        self._disarm()
        self._ignore_writing()
        super().handle_websocket_upgrade()
        socket: Any = self.transport.get_protocol()
        socket.on_lost = self._forget_peer

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_much:
            self._leave(_TOO_MUCH)
        elif not self.transport.is_closing():
            self.transport.write(_NO_REQUEST)
            self.transport.close()

    # unread data

    def on_response_complete(self) -> None:
        self._watch_writing()
        if self.pipeline:
            self._running, _ = self.pipeline[-1]  # comes next
        super().on_response_complete()

    # ---- deadlines --------------------------------------------------------------------------------------------------

    def _arm(self, seconds: float) -> None:
        self._alarm = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _late(self) -> None:
        self._alarm = None
        self._leave(_TOO_LATE)

    def _leave(self, words: bytes) -> None:
        """End the connection, with these words unless an answer is under way."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(words)
        self.transport.close()
        self._watch_writing()
