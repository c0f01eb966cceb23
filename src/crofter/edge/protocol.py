"""HTTP/1.1 on one connection: uvicorn's protocol with bounds on what a peer may send, hold and leave unread."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crofter.edge.problems import body_of
from crofter.errors import Reason

RECEIVE_SECONDS = 10.0
UPLOAD_SECONDS = 60.0
WRITE_SECONDS = 10.0
"""A peer that reads nothing for so long is cut off: what it leaves unread is kept in our memory."""
WRITE_CHECKS = 4
"""How often it is looked at within that time."""
WRITE_BUFFER = 32 * 1024
"""Bytes that may wait in one connection's buffer before whoever writes has to wait."""
CONNECTIONS_PER_PEER = 256
MAX_HEAD = 64 * 1024
"""Bytes of a request's address, headers and trailers."""
MAX_FIELDS = 200
"""Headers and trailers of a request."""
MAX_PIPELINED = 16
"""Requests that may wait on a connection behind the one that is being answered."""
UPLOADS = (b"multipart/", b"image/")


def _farewell(status: bytes, reason: str) -> bytes:
    """An answer in the interface's form to what never became a request; the connection ends with it."""
    body = body_of([Reason(reason)])
    return b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


_TOO_LATE = _farewell(b"408 Request Timeout", "Request took too long to arrive")
_TOO_MUCH = _farewell(b"431 Request Header Fields Too Large", "Request headers are too large")
_TOO_MANY = _farewell(b"429 Too Many Requests", "Too many requests are waiting on this connection")
_NO_REQUEST = _farewell(b"400 Bad Request", "Invalid HTTP request")


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn waits for ever for a request to arrive and for an answer to be read, and takes any headers."""

    receive_seconds = RECEIVE_SECONDS
    write_seconds = WRITE_SECONDS
    per_peer: Counter[str] = Counter()
    _alarm: asyncio.TimerHandle | None = None
    _write_alarm: asyncio.TimerHandle | None = None
    _unsent = 0
    _peer = ""
    _head = 0
    _fields = 0
    _unnamed = 0
    """Bytes since the parser last told of anything: of a header that has not ended yet, in most cases."""
    _headed = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        waiting = getattr(self.config, "waiting_connections", None)
        if waiting is not None:
            waiting.accept(self.loop, self._another, self.config.ssl)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
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
        if self._write_alarm is not None:
            self._write_alarm.cancel()
        self.pipeline.clear()
        self.per_peer[self._peer] -= 1
        if not self.per_peer[self._peer]:
            del self.per_peer[self._peer]
        super().connection_lost(exc)

    # ---- what arrives -----------------------------------------------------------------------------------------------

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
        if len(self.pipeline) > MAX_PIPELINED:
            self._leave(_TOO_MANY)
        elif self._alarm is not None and self._is_stream():
            self._disarm()  # whoever reads it counts what comes, and ends the request if that is too little
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
        """Whether a file is on its way to an endpoint that takes one: that may take longer to arrive."""
        takes_upload = getattr(self.config.loaded_app, "takes_upload", None)
        return (
            takes_upload is not None
            and any(name == b"content-type" and value.startswith(UPLOADS) for name, value in self.headers)
            and takes_upload(self.scope["method"], self.scope["raw_path"])
        )

    def _is_stream(self) -> bool:
        takes_stream = getattr(self.config.loaded_app, "takes_stream", None)
        return takes_stream is not None and takes_stream(self.scope["raw_path"])

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_much:
            self._leave(_TOO_MUCH)
        elif not self.transport.is_closing():
            self.transport.write(_NO_REQUEST)
            self.transport.close()

    # ---- what is not read -------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent = 0  # the peer has read: a buffer that is as full again at the next look is another one

    def on_response_complete(self) -> None:
        self._watch_writing()
        super().on_response_complete()

    def _watch_writing(self) -> None:
        """Look again in a while whether the peer has read anything of what it was sent."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._write_alarm is None:
            self._unsent = unsent
            self._look_again(0)

    def _look_again(self, checks: int) -> None:
        self._write_alarm = self.loop.call_later(self.write_seconds / WRITE_CHECKS, self._check_writing, checks + 1)

    def _check_writing(self, checks: int) -> None:
        self._write_alarm = None
        unsent = self.transport.get_write_buffer_size()
        if not unsent:
            return
        if unsent != self._unsent:
            checks = 0
        elif checks >= WRITE_CHECKS:
            self.transport.abort()
            return
        self._unsent = unsent
        self._look_again(checks)

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
