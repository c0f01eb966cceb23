"""Connections to PostgreSQL that are used again. A thread that needs a new one makes it itself.

So there is nothing to wait for when a server comes back: the next request connects.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from crofter.db import deadlines
from crofter.db.pipeline import PipelineConnection
from crofter.errors import Unavailable

WAIT_SECONDS = 3.0
"""For a place, if all connections are in use."""
IDLE_SECONDS = 600.0
"""Seconds after which an unused connection is closed."""


class Pool:
    def __init__(self, connect: Callable[[], PipelineConnection], size: int) -> None:
        self._connect = connect
        self._places = threading.Semaphore(size)
        self._idle: deque[tuple[float, PipelineConnection]] = deque()
        """With the time of their return; who came back last goes out first."""
        self._closed = False

    def take(self) -> PipelineConnection:
        if self._closed or not self._places.acquire(timeout=deadlines.left(WAIT_SECONDS)):
            raise Unavailable
        try:
            return self._used_before() or self._connect()
        except BaseException:
            self._places.release()
            raise

    def _used_before(self) -> PipelineConnection | None:
        while True:
            try:
                _since, connection = self._idle.pop()
            except IndexError:
                return None
            if connection.usable():
                return connection
            connection.close()

    def give_back(self, connection: PipelineConnection) -> None:
        connection.until = None
        if self._closed or connection.closed or connection.in_transaction:
            connection.close()
        else:
            self._idle.append((time.monotonic(), connection))
            self._close_unneeded()
        self._places.release()

    def _close_unneeded(self) -> None:
        try:
            since, oldest = self._idle[0]
            if time.monotonic() - since > IDLE_SECONDS:
                self._idle.remove((since, oldest))
                oldest.close()
        except (IndexError, ValueError):
            pass  # another thread was quicker

    def close(self) -> None:
        self._closed = True
        while self._idle:
            try:
                self._idle.pop()[1].close()
            except IndexError:
                return
