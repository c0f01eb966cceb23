"""PostgreSQL: a pool of connections, one lock per account, and news between processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg import errors as pg

from crofter.db import deadlines
from crofter.db.database import Batch, LockFirst, TransactionConflict
from crofter.db.deadlines import DeadlineConnection, NoAnswer
from crofter.db.durability import RelaxedDurability
from crofter.db.journal import Journal
from crofter.db.pool import Pool
from crofter.db.session import Driver, Session
from crofter.db.signals import Signals
from crofter.errors import Unavailable

ACCOUNTS = 1
"""The class of advisory locks that hold accounts."""
CHANNEL = "crofter"
SEND_SECONDS = 1.0
"""For a hint to others: what it is about has been committed, and its caller waits for the answer."""
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
SILENCE = 1.0
"""Seconds without an answer to anybody: then a statement that is not answered either means a server that is stopped."""
IDLE_TIMEOUT = "15s"
"""A process that is stopped inside a transaction must not keep its locks from the others for ever."""

_INTERNAL = (pg.IdleInTransactionSessionTimeout, pg.ReadOnlySqlTransaction)
"""What PostgreSQL calls internal, and is not."""
_DRIVER = Driver(
    dialect="postgresql",
    clashes=pg.UniqueViolation,
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

    def _connect(self) -> DeadlineConnection:
        options = (
            f"-c statement_timeout={STATEMENT_TIMEOUT} -c lock_timeout={LOCK_TIMEOUT}"
            f" -c idle_in_transaction_session_timeout={IDLE_TIMEOUT}"
        )
        return DeadlineConnection.connect(self.address, options=options, **ALIVE)

    @contextmanager
    def _transaction(self, *, read_only: bool) -> Iterator[DeadlineConnection]:
        with _storage_faults(), self._answering.watched() as trial:
            connection = self._pool.take()
            try:
                if trial:
                    connection.until = time.monotonic() + deadlines.CONNECT_SECONDS
                    connection.execute("SELECT 1")
                    connection.rollback()
                    self._answering.heard()
                connection.until = deadlines.of_transaction()
                if connection.read_only is not read_only:  # said in BEGIN itself, which costs no trip of its own
                    connection.read_only = read_only
                    connection.isolation_level = IsolationLevel.REPEATABLE_READ if read_only else None
                yield connection
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                self._pool.give_back(connection)

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._transaction(read_only=True) as connection:
            yield _session(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        with self._transaction(read_only=False) as connection:
            if self._relaxed.here:
                connection.execute("SET LOCAL synchronous_commit TO off")
            session = _session(connection, Journal())
            yield session
            session.before_commit()
        session.after_commit(self.signals)

    def batch(self, *, optimistic: bool = False) -> AbstractContextManager[Batch]:
        return nullcontext(Batch())  # writers of different accounts do not wait for each other here

    holds_writer_lock = False

    def relaxed_durability(self) -> AbstractContextManager[None]:
        return self._relaxed.begun()

    def answers_callers(self) -> None:
        deadlines.answers_callers()

    def connect(self) -> DeadlineConnection:
        """A connection of one's own, outside the pool and outside transactions."""
        return DeadlineConnection.connect(self.address, autocommit=True, **ALIVE)

    def close(self) -> None:
        self.signals.stop()
        self._pool.close()


class Answering:
    """Whether the server answers. While it does not, one thread at a time tries, and the others fail at once.

    Else every thread would wait as long as it may, request after request.
    """

    def __init__(self) -> None:
        self._heard_at = time.monotonic()
        self._silent = False
        self._trial = threading.Lock()

    def heard(self) -> None:
        self._silent = False
        self._heard_at = time.monotonic()

    @contextmanager
    def watched(self) -> Iterator[bool]:
        """Around a transaction; says whether it is the one that tries."""
        trial = self._silent
        if trial and not self._trial.acquire(blocking=False):
            raise Unavailable
        try:
            yield trial
        except (NoAnswer, psycopg.errors.ConnectionTimeout):
            # One slow statement does not make a silent server: others are answered meanwhile.
            self._silent = time.monotonic() - self._heard_at > SILENCE
            raise
        else:
            self.heard()
        finally:
            if trial:
                self._trial.release()


def _session(connection: psycopg.Connection[Any], journal: Journal | None = None) -> Session:
    return Session(_DRIVER, connection.execute, _account_locks(connection), journal)


def _account_locks(connection: psycopg.Connection[Any]) -> Callable[[int], None]:
    held: set[int] = set()

    def lock(account_id: int) -> None:
        if account_id in held:
            return
        if held and account_id < max(held):
            # Out of order: two who wait for each other would wait for ever, so this one does not wait.
            locked = connection.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", (ACCOUNTS, account_id)).fetchone()
            if locked is None or not locked[0]:
                raise LockFirst(account_id)
        else:
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (ACCOUNTS, account_id))
        held.add(account_id)

    return lock


@contextmanager
def _storage_faults() -> Iterator[None]:
    try:
        yield
    except (pg.SerializationFailure, pg.DeadlockDetected) as error:
        raise TransactionConflict from error
    except (psycopg.OperationalError, psycopg.InterfaceError, *_INTERNAL) as error:
        raise Unavailable from error


class PostgresSignals(Signals):
    """Sent after commit, on a connection of their own: NOTIFY inside a transaction makes commits queue."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database
        self._sender: DeadlineConnection | None = None
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
                self._sender = self._database.connect()
            self._sender.until = time.monotonic() + SEND_SECONDS
            for topic in topics:
                self._sender.execute("SELECT pg_notify(%s, %s)", (CHANNEL, topic))
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
