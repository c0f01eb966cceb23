"""Notification of other processes on the same PostgreSQL about commits."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from crofter.db.signals import Signals

if TYPE_CHECKING:
    from crofter.db.postgres import PostgresDatabase

CHANNEL = "crofter"
TOGETHER_SECONDS = 0.01
"""Seconds in which messages are collected after a send: a busy server repeats most topics."""
NOTIFY = "SELECT pg_notify(%s, topic) FROM unnest(%s::text[]) AS topic"
AGAIN_SECONDS = 0.5
"""Between two attempts to connect to a database that is away."""
STOP_SECONDS = 3


class PostgresSignals(Signals):
    """Sent after commit, by a thread and a connection of their own: NOTIFY inside a transaction makes commits queue."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database
        self._stopped = threading.Event()
        self._hearing: threading.Thread | None = None
        self._sending: threading.Thread | None = None
        self._changing = threading.Lock()
        """Guards the thread that sends, and what it has to send."""
        self._unsent: set[str] = set()
        self._news = threading.Event()
        self._sent_by = 0
        """The process of the database server that sends for us; we need not hear what we have said."""

    def start(self) -> None:
        """Begin to hear what other processes publish."""
        self._hearing = threading.Thread(target=self._hear, name="signals", daemon=True)
        self._hearing.start()

    def publish(self, topics: Iterable[str]) -> None:
        topics = tuple(topics)
        if not topics:
            return
        super().publish(topics)
        with self._changing:
            self._unsent.update(topics)
            if self._sending is None and not self._stopped.is_set():
                self._sending = threading.Thread(target=self._send, name="signals out", daemon=True)
                self._sending.start()
        self._news.set()

    def _send(self) -> None:
        while True:
            with suppress(psycopg.Error), self._database.connect() as connection:
                self._sent_by = connection.info.backend_pid
                while not self._stopped.is_set():
                    self._news.wait()
                    self._news.clear()
                    self._send_all(connection)
                    self._stopped.wait(TOGETHER_SECONDS)
                self._send_all(connection)
                return
            if self._stopped.wait(AGAIN_SECONDS):  # lost hints are harmless: waiting requests poll too
                return

    def _send_all(self, connection: psycopg.Connection) -> None:
        with self._changing:
            topics, self._unsent = self._unsent, set()
        if topics:
            connection.execute(NOTIFY, (CHANNEL, sorted(topics)))

    def _hear(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    while not self._stopped.is_set():
                        for note in connection.notifies(timeout=0.5):
                            if note.pid != self._sent_by:
                                self.heard(note.payload)
            except psycopg.Error:
                self._stopped.wait(AGAIN_SECONDS)

    def stop(self) -> None:
        """Stop after sending the published messages."""
        self._stopped.set()
        self._news.set()
        for thread in (self._hearing, self._sending):
            if thread is not None:
                thread.join(timeout=STOP_SECONDS)
