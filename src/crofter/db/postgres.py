"""PostgreSQL: a pool of connections, and one lock per account."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg.errors import UniqueViolation

from crofter.db import deadlines
from crofter.db.answering import Answering, raise_storage_fault
from crofter.db.database import Batch, LockFirst
from crofter.db.deadlines import DeadlineConnection
from crofter.db.durability import RelaxedDurability
from crofter.db.journal import Journal
from crofter.db.locks import ACCOUNTS
from crofter.db.pipeline import BEGIN_READ, BEGIN_WRITE, PipelineConnection
from crofter.db.pool import Pool
from crofter.db.postgres_batch import TRY_LOCK, PostgresBatch
from crofter.db.postgres_reads import PostgresReads
from crofter.db.postgres_signals import PostgresSignals
from crofter.db.session import Driver, Session

ALIVE: dict[str, Any] = {
    "connect_timeout": deadlines.CONNECT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""A server that is cut off is noticed within seconds, not when TCP gives up."""
STATEMENT_TIMEOUT = "10s"
LOCK_TIMEOUT = "3s"
"""Shorter than a caller's deadline: then the server says that a lock is taken, and the connection can be used again."""
IDLE_TIMEOUT = "15s"
"""A process that is stopped inside a transaction must not keep its locks from the others for ever."""
RELAXED_CONNECTIONS = 4
"""Connections for writes while the clock advances, which run in two threads of their own."""
PLANNING = "-c random_page_cost=1.1 -c jit=off"
"""Our statements find a few rows by an index, on disks that do not seek. By its defaults the server reads a small table
as a whole for each row of a list, and may compile a statement that takes less time than that.
"""

_DRIVER = Driver(
    dialect="postgresql",
    clashes=UniqueViolation,
    changed=lambda cursor: int(cursor.rowcount),
    numbered=lambda cursor: int(cursor.fetchone()[0]),
)


class PostgresDatabase:
    dialect = "postgresql"
    reads_block = True

    def __init__(self, url: str, *, pool: int = 8) -> None:
        self.address = url
        self.url = "postgresql+psycopg://" + url.partition("://")[2]
        self.signals = PostgresSignals(self)
        self._relaxed = RelaxedDurability()
        self._answering = Answering()
        self._pool = Pool(self._connect, pool)
        self._relaxed_pool = Pool(lambda: self._connect("-c synchronous_commit=off"), RELAXED_CONNECTIONS)
        self._of_thread = threading.local()

    def _connect(self, *more: str) -> PipelineConnection:
        options = (
            f"-c statement_timeout={STATEMENT_TIMEOUT} -c lock_timeout={LOCK_TIMEOUT}"
            f" -c idle_in_transaction_session_timeout={IDLE_TIMEOUT} {PLANNING} {' '.join(more)}"
        )
        alive = ALIVE | {"connect_timeout": max(deadlines.ASK_SECONDS, int(deadlines.left(deadlines.CONNECT_SECONDS)))}
        connection = DeadlineConnection.connect(self.address, autocommit=True, options=options, **alive)
        return PipelineConnection(connection, self._is_alive)

    def _is_alive(self) -> bool:
        return self._answering.is_alive(self._ask)

    def _ask(self) -> None:
        alive = ALIVE | {"connect_timeout": deadlines.ASK_SECONDS}
        with DeadlineConnection.connect(self.address, autocommit=True, **alive) as connection:
            connection.until = time.monotonic() + 1
            connection.execute("SELECT 1")

    def take(self, *, relaxed: bool = False) -> tuple[PipelineConnection, bool]:
        """A connection for one transaction, and whether it is the one that tries a server that was silent.

        ``relaxed``: its commits do not wait for the disk.
        """
        trial = self._answering.enter()
        connection: PipelineConnection | None = None
        try:
            connection = (self._relaxed_pool if relaxed else self._pool).take()
            connection.relaxed, connection.heard = relaxed, False
            if trial:
                connection.until = time.monotonic() + deadlines.left(deadlines.CONNECT_SECONDS)
                connection.execute("SELECT 1")
                self._answering.heard()
            connection.until = deadlines.of_transaction()
        except BaseException as error:
            if connection is not None:
                self._pool_of(connection).give_back(connection)
            self._answering.leave(error, trial=trial)
            raise_storage_fault(error)
            raise
        return connection, trial

    def give_back(self, connection: PipelineConnection, error: BaseException | None, *, trial: bool) -> None:
        """Return a connection to the pool after a transaction. Raise the caller's form of its error."""
        heard = connection.heard
        self._pool_of(connection).give_back(connection)
        self._answering.leave(error, trial=trial, heard=heard)
        raise_storage_fault(error)

    def _pool_of(self, connection: PipelineConnection) -> Pool:
        return self._relaxed_pool if connection.relaxed else self._pool

    def read(self) -> AbstractContextManager[Session]:
        batch: PostgresBatch | PostgresReads | None = getattr(self._of_thread, "batch", None)
        if batch is None:
            batch = getattr(self._of_thread, "reads", None)
        return _Reading(self) if batch is None else batch.reading()

    def write(self) -> AbstractContextManager[Session]:
        batch: PostgresBatch | None = getattr(self._of_thread, "batch", None)
        return _Writing(self, relaxed=self._relaxed.here) if batch is None else batch.writing()

    def batch(self, *, optimistic: bool = False, accounts: Collection[int] = ()) -> AbstractContextManager[Batch]:
        if not optimistic:
            return nullcontext(Batch())  # each stands or falls alone, so each has a commit of its own
        return PostgresBatch(self, _DRIVER, accounts, ACCOUNTS)

    def reading_together(self) -> AbstractContextManager[Batch]:
        return PostgresReads(self, _DRIVER)

    def open_reads(self, reads: PostgresReads | None) -> None:
        """Let this thread read from this snapshot from now on. Writes are unaffected."""
        self._of_thread.reads = reads

    def open_batch(self, batch: PostgresBatch | None) -> None:
        """Let this thread read and write in this batch from now on; None ends the batch."""
        self._of_thread.batch = batch

    holds_writer_lock = False
    """In a batch, too, a token may be revoked while its account is waited for, and is looked up again."""

    def relaxed_durability(self) -> AbstractContextManager[None]:
        return self._relaxed.begun()

    def answers_callers(self) -> None:
        deadlines.answers_callers()

    def caller_waits_since(self, since: float) -> AbstractContextManager[None]:
        return deadlines.CallerWaits(since)

    def connect(self) -> DeadlineConnection:
        """A connection of one's own, outside the pool and outside transactions."""
        return DeadlineConnection.connect(self.address, autocommit=True, **ALIVE)

    def close(self) -> None:
        self.signals.stop()
        self._pool.close()
        self._relaxed_pool.close()


# Blocks are classes here: each request opens one or two, and a generator costs several times as much.


class _Reading:
    """A read snapshot. The reader does not wait for the end of the transaction."""

    __slots__ = ("_connection", "_database", "_trial")

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def __enter__(self) -> Session:
        self._connection, self._trial = self._database.take()
        self._connection.begin(BEGIN_READ)
        connection = self._connection
        return Session(_DRIVER, connection.execute, _account_locks(connection), None, connection.execute_later)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        failure = error
        try:
            if error is None or not isinstance(error, psycopg.Error):
                self._connection.commit_unwatched()
            else:
                self._connection.rollback()
        except psycopg.Error as broken:
            failure = error or broken
        self._database.give_back(self._connection, failure, trial=self._trial)


class _Writing:
    """A write with a commit of its own."""

    __slots__ = ("_connection", "_database", "_relaxed", "_session", "_trial")

    def __init__(self, database: PostgresDatabase, *, relaxed: bool) -> None:
        self._database = database
        self._relaxed = relaxed

    def __enter__(self) -> Session:
        connection, self._trial = self._database.take(relaxed=self._relaxed)
        self._connection = connection
        connection.begin(BEGIN_WRITE)
        self._session = Session(
            _DRIVER, connection.execute, _account_locks(connection), Journal(), connection.execute_later
        )
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        failure = error
        try:
            if failure is None:
                self._session.before_commit()
                if self._session.changes_nothing:
                    self._connection.commit_unwatched()
                else:
                    self._connection.commit()
        except BaseException as broken:
            failure = broken
            raise
        finally:
            if failure is not None:
                with suppress(psycopg.Error):
                    self._connection.rollback()
            self._database.give_back(self._connection, failure, trial=self._trial)
        if failure is None:
            self._session.after_commit(self._database.signals)


def _account_locks(connection: PipelineConnection) -> Callable[[int], None]:
    held: set[int] = set()

    def lock(account_id: int) -> None:
        if account_id in held:
            return
        if held and account_id < max(held):
            # Out of order: two who wait for each other would wait for ever, so this one does not wait.
            locked = connection.execute(TRY_LOCK, (ACCOUNTS, account_id)).fetchone()
            if locked is None or not locked[0]:
                raise LockFirst(account_id)
        else:
            # The server takes it before it looks at the statement that travels with it.
            connection.execute_later("SELECT pg_advisory_xact_lock(%s, %s)", (ACCOUNTS, account_id))
        held.add(account_id)

    return lock
