"""Acceptor that takes many waiting connections in one turn of the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

MOST = 64
"""Connections that are accepted in one turn, beside the one that the event loop accepts."""


class Backlog:
    """Connections that the kernel holds ready.

    uvloop accepts one in each turn. When turns are long, since there is much to do, those who connect would wait for
    each other for many seconds, and a health check among them.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._looked = False
        self._opening: set[asyncio.Task[Any]] = set()

    def accept(self, loop: asyncio.AbstractEventLoop, protocol: Callable[[], asyncio.Protocol], ssl: Any) -> None:
        """Called for each new connection: there may be more of them. Looks once in each turn."""
        if self._looked:
            return
        self._looked = True
        loop.call_soon(self._look_again)
        for _ in range(MOST):
            try:
                connection, _address = self._listening.accept()
            except OSError:  # usually because no connection is waiting
                return
            connection.setblocking(False)
            opening = loop.create_task(_open(loop, protocol, connection, ssl))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

    def _look_again(self) -> None:
        self._looked = False


async def _open(
    loop: asyncio.AbstractEventLoop, protocol: Callable[[], asyncio.Protocol], connection: socket.socket, ssl: Any
) -> None:
    try:
        await loop.connect_accepted_socket(protocol, connection, ssl=ssl)
    except OSError:  # disconnected, or not TLS
        connection.close()
