"""Connections to hosts: opened on demand, watched, and reopened. Callers never wait long for a silent host."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from crofter.drivers.hypervisor.errors import Unreachable
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt

PATIENCE = 5.0
"""Real seconds that a caller waits for a host to answer."""
BACKOFF, LONGEST_BACKOFF = 2.0, 60.0
SLOW = 1.0
"""A try that fails more quickly than this, such as at a socket that is not there, may be repeated at once."""
KEEP_ALIVE = (5, 3)
"""Seconds between two messages, and how many may stay unanswered before a connection counts as broken."""


class Connection:
    """Connection to a host. One attempt runs at a time, shared by all waiting callers."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._lock = threading.Lock()
        self._handle: Any = None
        self._trying: Future[Any] | None = None
        self._since = self._retry_at = 0.0
        self._failures = 0

    def get(self, patience: float = PATIENCE) -> Any:
        """libvirt's handle of a connection that has just answered, or Unreachable."""
        with self._lock:
            trying = self._trying
            if trying is None or trying.done():
                if time.monotonic() < self._retry_at:
                    raise Unreachable("The host does not answer.")
                trying, self._since = in_daemon_thread(self._answering), time.monotonic()
                self._trying = trying
            # Later callers wait less: a silent host costs all callers together one timeout.
            left = max(0.0, self._since + patience - time.monotonic())
        try:
            return trying.result(left)
        except (TimeoutError, LibvirtError):
            raise Unreachable("The host does not answer.") from None

    def _answering(self) -> Any:
        if self._handle is not None:
            try:
                self._handle.getLibVersion()
                return self._handle
            except LibvirtError:
                self._handle = None
        begun = time.monotonic()
        try:
            opened = virt.open(self._uri)
            opened.setKeepAlive(*KEEP_ALIVE)
        except LibvirtError:
            self._failed(time.monotonic() - begun)
            raise
        self._handle, self._failures, self._retry_at = opened, 0, 0.0
        return opened

    def _failed(self, took: float) -> None:
        if took >= SLOW:
            self._failures += 1
            wait = min(LONGEST_BACKOFF, BACKOFF * 2 ** min(self._failures, 6))
            self._retry_at = time.monotonic() + wait


def in_daemon_thread(work: Callable[[], Any]) -> Future[Any]:
    """In a thread that no exit of the process waits for: a connection may hang for minutes."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="libvirt connection", daemon=True).start()
    return future


_connections: dict[tuple[str, str], Connection] = {}
_connections_lock = threading.Lock()


def connection_to(uri: str, purpose: str = "read") -> Connection:
    """The connection to a host. Reads have one of their own, so that they need not wait behind work that takes long."""
    with _connections_lock:
        return _connections.setdefault((uri, purpose), Connection(uri))
