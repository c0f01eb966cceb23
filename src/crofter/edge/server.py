"""uvicorn, with a deadline for receiving a request and a cap on connections per peer."""

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


def _farewell(status: bytes, reason: str) -> bytes:
    """An answer in the interface's form to what never became a request; the connection ends with it."""
    body = body_of([Reason(reason)])
    return b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


_TOO_LATE = _farewell(b"408 Request Timeout", "Request took too long to arrive")
_NO_REQUEST = _farewell(b"400 Bad Request", "Invalid HTTP request")


class PatientProtocol(HttpToolsProtocol):
    """uvicorn waits for ever for a request to arrive; this does not."""

    receive_seconds = RECEIVE_SECONDS
    per_peer: Counter[str] = Counter()
    _alarm: asyncio.TimerHandle | None = None
    _peer = ""

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
        if self._alarm is None and (self.cycle is None or self.cycle.response_complete):
            self._arm(self.receive_seconds)
        super().data_received(data)

    def on_headers_complete(self) -> None:
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
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_TOO_LATE)
        self.transport.close()


def configured(app: Any, **more: Any) -> uvicorn.Config:
    """uvicorn as the house runs it."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
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
