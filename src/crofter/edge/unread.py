"""Connections whose peer does not read what it is sent: they are cut off."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

WRITE_SECONDS = 10.0
"""A peer that reads nothing for so long is cut off: what it leaves unread is kept in our memory."""
WRITE_CHECKS = 4
"""Number of checks within that time."""
WRITE_BUFFER = 32 * 1024
"""Bytes that a connection may buffer before its writer must wait."""


KERNEL_BUFFER = 128 * 1024
"""Bytes that the kernel holds of one connection; Linux doubles them. By itself it takes 4 MB, which no limit of ours
counts."""
UNACKNOWLEDGED_SECONDS = 30
"""After so long without a word from the peer the kernel drops what it still holds, also of a closed connection."""
_RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing discards what was not sent, and the peer gets a reset."""


def bound_sending(listening: socket.socket) -> None:
    """Limit what the kernel holds of each connection. Accepted sockets inherit this from the one that listens."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_SECONDS * 1000)


def reset(transport: Any) -> None:
    """End a connection and drop its unsent bytes. Without a reset the kernel keeps them until the peer reads."""
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


class WriteWatch(asyncio.Protocol):
    """Part of a protocol, before uvicorn's in the order of its bases."""

    transport: Any
    loop: asyncio.AbstractEventLoop
    write_seconds = WRITE_SECONDS
    _write_alarm: asyncio.TimerHandle | None = None
    _unsent = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ignore_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent = 0  # the peer has read: a buffer that is as full again at the next look is another one

    def _watch_writing(self) -> None:
        """Look again in a while whether the peer has read anything of what it was sent."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._write_alarm is None:
            self._unsent = unsent
            self._look_again(0)

    def _ignore_writing(self) -> None:
        if self._write_alarm is not None:
            self._write_alarm.cancel()
            self._write_alarm = None

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
            reset(self.transport)
            return
        self._unsent = unsent
        self._look_again(checks)
