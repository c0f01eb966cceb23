"""A web socket on one connection: uvicorn's protocol, within the bounds of ours. Loaded with the first socket."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from crofter.edge.unread import WriteWatch

_log = logging.getLogger("crofter.sockets")
_log.setLevel(logging.WARNING)  # below that uvicorn writes whole addresses down, and they hold secrets


class BoundedSocket(WriteWatch, WSProtocol):
    on_lost: Callable[[], None] = staticmethod(lambda: None)
    """Callback of the connection counter, called when the connection ends."""
    _unfinished = 0
    """Bytes since the last whole message."""

    def __init__(self, **connection: Any) -> None:
        super().__init__(**connection)
        self.logger = _log

    def data_received(self, data: bytes) -> None:
        whole = self.queue.qsize()
        super().data_received(data)
        self._unfinished = 0 if self.queue.qsize() > whole else self._unfinished + len(data)
        # Older versions of uvicorn keep a message of any length until it is whole.
        if self._unfinished > 2 * self.config.ws_max_size:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.on_lost()
        super().connection_lost(exc)
