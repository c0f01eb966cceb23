"""SQLite: one writer at a time, readers beside it, every commit on disk before it is answered."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Hashable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import apsw

from crofter.db import sqlite_file
from crofter.db.database import Batch, BatchAborted
from crofter.db.durability import RelaxedDurability
from crofter.db.journal import Journal
from crofter.db.session import DeferredWrite, Driver, Session
from crofter.db.signals import Signals
from crofter.errors import NoSpace, Unavailable

WRITE_WAIT = 2.0
"""Seconds a writer waits for the lock before the request is refused with 503."""
STATEMENTS = 512
"""How many a connection keeps prepared: as many as the driver takes."""
CACHE, CACHE_OF_A_THREAD = 16_000, 2_000
"""Kilobytes of pages that the writer and the main thread keep in memory, and each thread beside them."""
_WAITING, _RELAXED = "PRAGMA synchronous=FULL", "PRAGMA synchronous=NORMAL"
_STORAGE_FAULTS = (
    apsw.FullError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.ProtocolError,
)
"""SQLite error codes of a full or missing disk and of a lock held by another process."""
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
"""No file is made: in the place of one that was moved away it would be empty, and take the log of the other for its
own. And no lock inside SQLite around each of its calls: only one thread at a time ever uses a connection."""
_DRIVER = Driver(
    dialect="sqlite",
    clashes=apsw.ConstraintError,
    changed=lambda cursor: cursor.connection.changes(),
    numbered=lambda cursor: cursor.connection.last_insert_rowid(),
)


class SqliteDatabase:
    dialect = "sqlite"
    reads_block = False

    def __init__(self, folder: Path | None, *, beside: bool = False) -> None:
        """``beside``: for a few statements while another process serves the database."""
        self.signals = Signals()
        self._keeps = folder is not None
        if folder is None:
            # A real file even when nothing is kept: readers beside a writer need one.
            folder = Path(tempfile.mkdtemp(prefix="crofter-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / "crofter.db"
        self.url = f"sqlite+apsw:///{self.path}"
        sqlite_file.refuse_emptied(self.path)
        self._held = None if beside else _lock_file(folder / sqlite_file.LOCK)
        self._writer_lock = threading.Lock()
        self._readers = threading.local()
        """The connection of each thread that has looked. It goes when the thread does."""
        self._closed = False
        try:
            sqlite_file.make(self.path)
            self._writer = self._connect()
            if not beside:
                sqlite_file.check(self._writer)
        except apsw.Error as error:
            raise sqlite_file.unusable(self.path, error) from error
        self._file_id = _file_id(self.path)
        self._shared: SharedTransaction | None = None
        self._relaxed = RelaxedDurability()
        self._waits = True
        """True if the writer waits for the disk; guarded by the writer lock."""

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=_FLAGS, statementcachesize=STATEMENTS)
        connection.set_busy_timeout(int(WRITE_WAIT * 1000))
        # A plan for good: else a statement is prepared anew for each value it is given.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(_WAITING if self._keeps else "PRAGMA synchronous=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA cache_size=-{CACHE}")
        connection.execute("PRAGMA temp_store=MEMORY")  # pages that a savepoint may want back
        connection.execute("PRAGMA secure_delete=FAST")  # what is deleted is overwritten where that costs no write
        return connection

    def _reader(self) -> apsw.Connection:
        try:
            self._refuse_another_file()
            connection = self._connect()
            connection.execute("PRAGMA query_only=ON")
            if threading.current_thread() is not threading.main_thread():
                connection.execute(f"PRAGMA cache_size=-{CACHE_OF_A_THREAD}")
        except (*_STORAGE_FAULTS, OSError) as error:  # the file is gone, or there are too many open ones
            raise Unavailable from error
        return connection

    def _refuse_another_file(self) -> None:
        """Raise if the database file was replaced: SQLite would write to an unlinked file."""
        if _file_id(self.path) != self._file_id:
            raise FileNotFoundError(self.path)

    def read(self) -> AbstractContextManager[Session]:
        if self.holds_writer_lock:
            return nullcontext(self._session(self._writer))
        connection: apsw.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._readers.connection = self._reader()
        if connection.in_transaction:
            return nullcontext(self._session(connection))  # a read within a read sees the same moment
        return _Reading(self._session(connection), connection)

    def write(self) -> AbstractContextManager[Session]:
        if self.holds_writer_lock:
            assert self._shared is not None
            return Savepoint(self._shared, self.savepoint_session(self._shared), self._writer)
        return _Writing(self, self._session(self._writer, Journal()))

    def batch(self, *, optimistic: bool = False, accounts: Collection[int] = ()) -> AbstractContextManager[Batch]:
        return SharedTransaction(self, optimistic=optimistic)

    def reading_together(self) -> AbstractContextManager[Batch]:
        return nullcontext(Batch())  # reads cost nothing to begin

    @property
    def holds_writer_lock(self) -> bool:
        return self._shared is not None and self._shared.thread == threading.get_ident()

    def relaxed_durability(self) -> AbstractContextManager[None]:
        return self._relaxed.begun()

    def _set_durability(self) -> None:
        waits = not self._relaxed.here
        if waits is not self._waits and self._keeps:
            self._writer.execute(_WAITING if waits else _RELAXED)
            self._waits = waits

    def _session(self, connection: apsw.Connection, journal: Journal | None = None) -> Session:
        return session_on(connection, journal)

    def savepoint_session(self, shared: SharedTransaction) -> Session:
        """A session that knows what the writes before it have left to be written. It may add to that, or fail."""
        session = self._session(self._writer, Journal())
        session.deferred_writes = dict(shared.deferred_writes)
        return session

    def begin(self, shared: SharedTransaction | None = None) -> None:
        """Take the writer lock and begin a transaction, or be unavailable."""
        if self._closed or not self._writer_lock.acquire(timeout=WRITE_WAIT):
            raise Unavailable
        try:
            self._refuse_another_file()
            self._set_durability()
            self._writer.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._writer_lock.release()
            if isinstance(error, (*_STORAGE_FAULTS, OSError)):
                raise sqlite_file.unavailable(error) from error
            raise
        self._shared = shared

    def end(self, error: BaseException | None, session: Session) -> None:
        """Commit, or leave no trace of what went wrong; and give the writer lock back."""
        try:
            if error is None:
                if not self._writer.in_transaction:
                    raise NoSpace  # SQLite has given it up, as it does when the disk is full
                session.before_commit()
                self._writer.execute("COMMIT")
        except _STORAGE_FAULTS as failure:
            raise sqlite_file.unavailable(failure) from failure
        finally:
            try:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
            finally:
                self._shared = None
                self._writer_lock.release()

    def copy_to(self, path: Path) -> None:
        """Write all of the database into a new file, and see it on disk."""
        self._copying(lambda: sqlite_file.copy(self._writer, path))

    def copy_from(self, path: Path) -> None:
        """Put all of the database back to what such a file holds. Who reads meanwhile goes on with what was before."""
        self._copying(lambda: sqlite_file.put_back(path, self._writer))

    def _copying(self, copy: Callable[[], None]) -> None:
        if self._closed or not self._writer_lock.acquire(timeout=WRITE_WAIT):
            raise Unavailable
        try:
            copy()
        except _STORAGE_FAULTS as error:
            raise sqlite_file.unavailable(error) from error
        finally:
            self._writer_lock.release()

    def answers_callers(self) -> None:
        """Do nothing: SQLite has no server that could be silent."""

    def caller_waits_since(self, _since: float) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        """Wait for the last write. What another thread still reads stays open: to close it would end the process."""
        if not self._closed and self._writer_lock.acquire(timeout=WRITE_WAIT):
            self._writer.close()
        self._closed = True
        reader: apsw.Connection | None = getattr(self._readers, "connection", None)
        if reader is not None:
            reader.close()
        if self._held is not None:
            self._held.close()


def session_on(connection: apsw.Connection, journal: Journal | None = None) -> Session:
    return Session(_DRIVER, connection.execute, _no_lock, journal)


def _file_id(path: Path) -> tuple[int, int]:
    """Return device and inode of a file, independent of its name."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _no_lock(_account_id: int) -> None:
    """Do nothing: SQLite's single writer holds every account already."""


def _lock_file(path: Path) -> IO[str]:
    """Lock the database for one process: a second process could not notify waiters of the first."""
    held = path.open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise Unavailable(f"{path.parent} is in use by another crofter process") from None
    return held


def _raise_unavailable(error: BaseException | None) -> None:
    """A full disk or a lock that is not ours makes the service unavailable; it is no bug."""
    if isinstance(error, _STORAGE_FAULTS):
        raise sqlite_file.unavailable(error) from error


# Blocks are classes here: each request opens one or two, and a generator costs several times as much.


class _Reading:
    __slots__ = ("_connection", "_session")

    def __init__(self, session: Session, connection: apsw.Connection) -> None:
        self._session = session
        self._connection = connection

    def __enter__(self) -> Session:
        try:
            self._connection.execute("BEGIN")
        except _STORAGE_FAULTS as error:
            raise Unavailable from error
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        _raise_unavailable(error)


class _Writing:
    """A write with a commit of its own."""

    __slots__ = ("_database", "_session")

    def __init__(self, database: SqliteDatabase, session: Session) -> None:
        self._database = database
        self._session = session

    def __enter__(self) -> Session:
        self._database.begin()
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._database.end(error, self._session)
        _raise_unavailable(error)
        if error is None:
            self._session.after_commit(self._database.signals)


class SharedTransaction(Batch):
    """A transaction that several writes of one thread share, so that they wait for the disk once."""

    def __init__(self, database: SqliteDatabase, *, optimistic: bool) -> None:
        self.thread = threading.get_ident()
        self.optimistic = optimistic
        self.sessions: list[Session] = []
        self.lost: BaseException | None = None
        """Error that made SQLite roll back the whole transaction, or None."""
        self.open = False
        """True while a write is running."""
        self.deferred_writes: dict[Hashable, DeferredWrite] = {}
        """Deferred writes of the completed parts, executed once for all of them."""
        self._database = database

    def __enter__(self) -> Batch:
        self._database.begin(self)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        aborted = BatchAborted() if self.aborted else None
        self._database.end(error or self.lost or aborted, self._database.savepoint_session(self))
        if self.lost is not None:
            raise sqlite_file.unavailable(self.lost) from self.lost
        if aborted is not None:
            raise aborted
        if error is None:
            for session in self.sessions:
                session.after_commit(self._database.signals)


class Savepoint:
    """A write in a batch, with its own savepoint."""

    __slots__ = ("_before", "_connection", "_session", "_shared")

    def __init__(self, shared: SharedTransaction, session: Session, connection: apsw.Connection) -> None:
        self._shared = shared
        self._session = session
        self._connection = connection
        self._before = 0

    def __enter__(self) -> Session:
        if self._shared.lost is not None or self._shared.aborted:
            raise Unavailable
        assert not self._shared.open, (
            "a write within a write: what each leaves to be written before the commit would be lost"
        )
        self._shared.open = True
        # A savepoint keeps every page that is changed after it as it was: a quarter of all that a write costs.
        if self._shared.optimistic:
            self._before = self._connection.total_changes()
        else:
            self._connection.execute("SAVEPOINT one_write")
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._shared.open = False
        if not self._connection.in_transaction:
            # A full disk takes the writes before this one with it.
            self._shared.lost = error or NoSpace()
        elif error is not None:
            self._undo()
        else:
            if not self._shared.optimistic:
                self._connection.execute("RELEASE one_write")
            self._shared.sessions.append(self._session)
            self._shared.deferred_writes = self._session.deferred_writes
        _raise_unavailable(error)

    def _undo(self) -> None:
        if not self._shared.optimistic:
            self._connection.execute("ROLLBACK TO one_write")
            self._connection.execute("RELEASE one_write")
        elif self._connection.total_changes() == self._before:
            pass  # usual case: a refused write has changed nothing
        elif self._shared.sessions:
            self._shared.aborted = True
        else:
            self._restart()

    def _restart(self) -> None:
        """Restart the transaction. Only the failed write is lost: it was the first."""
        self._connection.execute("ROLLBACK")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except _STORAGE_FAULTS as error:
            self._shared.lost = error
