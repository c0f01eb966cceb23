"""SQLite: one writer at a time, readers beside it, every commit on disk before it is answered."""

from __future__ import annotations

import atexit
import fcntl
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from crofter.db.session import Session
from crofter.db.signals import Signals
from crofter.errors import Unavailable

WRITE_WAIT = 2.0
"""Seconds a writer waits for its turn before the caller is told to come back later."""


class SqliteDatabase:
    dialect = "sqlite"
    reads_block = False

    def __init__(self, folder: Path | None) -> None:
        self.signals = Signals()
        self._keeps = folder is not None
        if folder is None:
            # A real file even when nothing is kept: readers beside a writer need one.
            folder = Path(tempfile.mkdtemp(prefix="crofter-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "crofter.db"
        self.url = f"sqlite:///{self.path}"
        self._held = _hold_alone(folder / "crofter.lock")
        self._turn = threading.Lock()
        self._readers = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._writer = self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=WRITE_WAIT)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'FULL' if self._keeps else 'OFF'}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA cache_size=-16000")
        self._open.append(connection)
        return connection

    @contextmanager
    def read(self) -> Iterator[Session]:
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._readers.connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
        with _storage_faults():
            connection.execute("BEGIN")
            try:
                yield Session(self.dialect, connection.execute, sqlite3.IntegrityError, _no_lock)
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def write(self) -> Iterator[Session]:
        if not self._turn.acquire(timeout=WRITE_WAIT):
            raise Unavailable
        session = Session(self.dialect, self._writer.execute, sqlite3.IntegrityError, _no_lock)
        try:
            with _storage_faults():
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield session
                    self._writer.execute("COMMIT")
                except BaseException:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                    raise
        finally:
            self._turn.release()
        session.tell(self.signals)

    def close(self) -> None:
        for connection in self._open:
            connection.close()
        self._held.close()


def _no_lock(_account_id: int) -> None:
    """SQLite's one writer holds every account already."""


def _hold_alone(path: Path) -> IO[str]:
    """One process per SQLite database: a second one would not see the first one's waiters."""
    held = path.open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise Unavailable(f"{path.parent} is in use by another crofter process") from None
    return held


@contextmanager
def _storage_faults() -> Iterator[None]:
    """A full disk or a lock that is not ours makes the service unavailable; it is no bug."""
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
        if "full" in words or "locked" in words or "disk I/O" in words or "readonly" in words:
            raise Unavailable from error
        raise
