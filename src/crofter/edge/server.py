"""uvicorn, with bounds on a request's head and on the time it takes to arrive, and a cap on connections per peer."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crofter.edge.problems import body_of
from crofter.errors import Reason

RECEIVE_SECONDS = 10.0
UPLOAD_SECONDS = 60.0
CONNECTIONS_PER_PEER = 256
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 10
MAX_HEAD = 64 * 1024
"""Bytes of a request's address, headers and trailers."""
MAX_FIELDS = 200
"""Headers and trailers of a request."""


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
_NO_REQUEST = _farewell(b"400 Bad Request", "Invalid HTTP request")


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn waits for ever for a request to arrive, and takes as many headers as come; this does not."""

    receive_seconds = RECEIVE_SECONDS
    per_peer: Counter[str] = Counter()
    _alarm: asyncio.TimerHandle | None = None
    _peer = ""
    _head = 0
    _fields = 0
    _unnamed = 0
    """Bytes since the parser last told of anything: of a header that has not ended yet, in most cases."""
    _headed = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.per_peer[self._peer] += 1
        if self.per_peer[self._peer] > CONNECTIONS_PER_PEER:
            transport.close()
        else:
            self._arm(self.receive_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.per_peer[self._peer] -= 1
        if not self.per_peer[self._peer]:
            del self.per_peer[self._peer]
        super().connection_lost(exc)

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
        super().on_headers_complete()
        if self._alarm is not None and any(
            name == b"content-type" and value.startswith((b"multipart/", b"image/")) for name, value in self.headers
        ):
            self._disarm()
            self._arm(max(UPLOAD_SECONDS, self.receive_seconds))

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_much:
            self._leave(_TOO_MUCH)
            return
        self.transport.write(_NO_REQUEST)
        self.transport.close()

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


def configured(app: Any, **more: Any) -> uvicorn.Config:
    """uvicorn as the server runs it."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        **more,
    )
