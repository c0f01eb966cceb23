"""The serial console of a real machine: a stream of libvirt that never blocks, with a bounded buffer on either side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from crofter.drivers.hypervisor.contract import SERIAL_BUFFER, SERIAL_PIECE

WOULD_BLOCK = -2
"""Return value of a stream without data, or with a full buffer."""


class LibvirtSerialPort:
    """Serial port over a libvirt stream. ``virt`` is libvirt's module, whose event loop signals readiness.

    The signals repeat until handled, so only awaited events are subscribed: a full buffer turns reading off, and the
    daemon holds back the machine's bytes.
    """

    def __init__(self, virt: Any, stream: Any, notify: Callable[[], None]) -> None:
        self._virt = virt
        self._stream = stream
        self._notify = notify
        self._lock = threading.Lock()
        self._unread = bytearray()
        self._unsent = bytearray()
        self._ended = self._closed = False
        self._asked = self._wanted()
        stream.eventAddCallback(self._asked, self._happened, None)

    def read(self) -> bytes | None:
        with self._lock:
            piece = bytes(self._unread[:SERIAL_PIECE])
            del self._unread[:SERIAL_PIECE]
            self._ask()
            return piece if piece or not self._ended else None

    def write(self, content: bytes) -> int:
        with self._lock:
            if self._ended:
                return 0
            taken = content[: SERIAL_BUFFER - len(self._unsent)]
            self._unsent += taken
            self._push()
            self._ask()
            return len(taken)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._end()
            self._closed = True
            self._unread.clear()
        try:
            self._stream.abort()
        except self._virt.libvirtError:
            pass  # the stream had ended already

    def _happened(self, _stream: Any, events: int, _opaque: Any) -> None:
        """Called in the thread of libvirt's events."""
        over = self._virt.VIR_STREAM_EVENT_ERROR | self._virt.VIR_STREAM_EVENT_HANGUP
        with self._lock:
            if self._ended:
                return
            if events & (self._virt.VIR_STREAM_EVENT_READABLE | over):
                self._pull()
            if events & self._virt.VIR_STREAM_EVENT_WRITABLE:
                self._push()
            if events & over:
                self._end()
            self._ask()
        self._notify()

    def _pull(self) -> None:
        try:
            while not self._ended and len(self._unread) < SERIAL_BUFFER:
                received = self._stream.recv(min(SERIAL_PIECE, SERIAL_BUFFER - len(self._unread)))
                if received == WOULD_BLOCK:
                    return
                if not received:
                    self._end()
                self._unread += received
        except self._virt.libvirtError:
            self._end()

    def _push(self) -> None:
        try:
            while self._unsent and not self._ended:
                sent = self._stream.send(bytes(self._unsent[:SERIAL_PIECE]))
                if sent == WOULD_BLOCK:
                    return
                del self._unsent[:sent]
        except self._virt.libvirtError:
            self._end()

    def _wanted(self) -> int:
        wanted: int = self._virt.VIR_STREAM_EVENT_ERROR | self._virt.VIR_STREAM_EVENT_HANGUP
        if len(self._unread) < SERIAL_BUFFER:
            wanted |= self._virt.VIR_STREAM_EVENT_READABLE
        if self._unsent:
            wanted |= self._virt.VIR_STREAM_EVENT_WRITABLE
        return wanted

    def _ask(self) -> None:
        if self._ended or self._asked == self._wanted():
            return
        self._asked = self._wanted()
        try:
            self._stream.eventUpdateCallback(self._asked)
        except self._virt.libvirtError:
            self._end()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._unsent.clear()
        try:
            self._stream.eventRemoveCallback()
        except self._virt.libvirtError:
            pass
