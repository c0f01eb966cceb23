"""Telling other processes on the same PostgreSQL that something has committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import psycopg

from crofter.db.pipeline import PipelineConnection
from crofter.db.signals import Signals

if TYPE_CHECKING:
    from crofter.db.postgres import PostgresDatabase

CHANNEL = "crofter"
SEND_SECONDS = 1.0
"""For a hint to others: what it is about has been committed, and its caller waits for the answer."""
UNANSWERED = 200
"""Hints that the server may not have answered yet; then the next one waits for it."""


class PostgresSignals(Signals):
    """Sent after commit, on a connection of their own: NOTIFY inside a transaction makes commits queue."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database
        self._sender: PipelineConnection | None = None
        self._sending = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to hear what other processes publish."""
        self._thread = threading.Thread(target=self._hear, name="signals", daemon=True)
        self._thread.start()

    def publish(self, topics: Iterable[str]) -> None:
        topics = tuple(topics)
        if not topics:
            return
        super().publish(topics)
        if not self._sending.acquire(timeout=SEND_SECONDS):
            return  # a hint is lost; whoever waits also polls
        try:
            if self._sender is None or self._sender.closed:
                self._sender = self._database.connect_pipelined()
            self._sender.until = time.monotonic() + SEND_SECONDS
            if self._sender.unanswered > UNANSWERED:
                self._sender.settle()
            for topic in topics:
                self._sender.execute_later("SELECT pg_notify(%s, %s)", (CHANNEL, topic))
            self._sender.flush()
        except psycopg.Error:
            self._sender = None  # here too
        finally:
            self._sending.release()

    def _hear(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    while not self._stopped.is_set():
                        for note in connection.notifies(timeout=0.5):
                            self.heard(note.payload)
            except psycopg.Error:
                self._stopped.wait(0.5)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=3)
        if self._sender is not None:
            self._sender.close()
