"""PostgreSQL: a pool of connections, one lock per account, and news between processes."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg import errors as pg
from psycopg_pool import ConnectionPool, PoolTimeout

from crofter.db.database import Batch, LockFirst, TransactionConflict
from crofter.db.durability import RelaxedDurability
from crofter.db.journal import Journal
from crofter.db.session import Driver, Session
from crofter.db.signals import Signals
from crofter.errors import Unavailable

ACCOUNTS = 1
"""The class of advisory locks that hold accounts."""
CHANNEL = "crofter"
ALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""A server that is cut off is noticed within seconds, not when TCP gives up."""
STATEMENT_TIMEOUT = "10s"
IDLE_TIMEOUT = "15s"
"""A process that is stopped inside a transaction must not keep its locks from the others for ever."""

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
        self._pool = ConnectionPool(
            url,
            min_size=1,
            max_size=pool,
            timeout=5.0,
            kwargs={
                "options": f"-c statement_timeout={STATEMENT_TIMEOUT} -c lock_timeout=5s"
                f" -c idle_in_transaction_session_timeout={IDLE_TIMEOUT}"
            },
            check=_check,
            open=True,
        )

    @contextmanager
    def _transaction(self, *, read_only: bool) -> Iterator[psycopg.Connection[Any]]:
        with _storage_faults(), self._pool.connection() as connection:
            if connection.read_only is not read_only:  # said in BEGIN itself, which costs no trip of its own
                connection.read_only = read_only
                connection.isolation_level = IsolationLevel.REPEATABLE_READ if read_only else None
            yield connection

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

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of one's own, outside the pool and outside transactions."""
        return psycopg.connect(self.address, autocommit=True, **ALIVE)

    def close(self) -> None:
        self.signals.stop()
        self._pool.close()


def _check(connection: psycopg.Connection[Any]) -> None:
    """An idle connection has nothing to say. One that has is most likely gone, and only then do we ask."""
    readable = select.poll()
    readable.register(connection.fileno(), select.POLLIN)
    if readable.poll(0):
        ConnectionPool.check_connection(connection)


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
    except (PoolTimeout, pg.LockNotAvailable, pg.QueryCanceled, pg.DiskFull, pg.ReadOnlySqlTransaction) as error:
        raise Unavailable from error
    except (psycopg.OperationalError, psycopg.InterfaceError, pg.IdleInTransactionSessionTimeout) as error:
        raise Unavailable from error


class PostgresSignals(Signals):
    """Sent after commit, on a connection of their own: NOTIFY inside a transaction makes commits queue."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database
        self._sender: psycopg.Connection[Any] | None = None
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
        with self._sending:
            try:
                if self._sender is None or self._sender.closed:
                    self._sender = self._database.connect()
                for topic in topics:
                    self._sender.execute("SELECT pg_notify(%s, %s)", (CHANNEL, topic))
            except psycopg.Error:
                self._sender = None  # a hint was lost; whoever waits also polls

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
