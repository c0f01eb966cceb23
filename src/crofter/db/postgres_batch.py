"""Several writes of one thread in one transaction of PostgreSQL, so that they wait for the disk once."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from crofter.db.answering import raise_storage_fault
from crofter.db.database import Batch, BatchAborted, LockFirst, TransactionConflict
from crofter.db.journal import Journal
from crofter.db.pipeline import BEGIN_WRITE, Result
from crofter.db.session import DeferredWrite, Driver, Session
from crofter.errors import Unavailable

if TYPE_CHECKING:
    from crofter.db.postgres import PostgresDatabase

TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s, %s)"


class PostgresBatch(Batch):
    """A batch that never waits for a locked account: all its writes would wait too.

    A server error ends the whole transaction, and a write that fails late has already changed rows. In both cases no
    write is committed, and each must be repeated alone.
    """

    def __init__(self, database: PostgresDatabase, driver: Driver, accounts: Collection[int], lock_class: int) -> None:
        self.locked: set[int] = set()
        self.changed = False
        """True if the current write has changed rows."""
        self.deferred_writes: dict[Hashable, DeferredWrite] = {}
        """Deferred writes of the completed parts, executed once for all of them."""
        self._database = database
        self._driver = driver
        self._wanted = accounts
        self._lock_class = lock_class
        self._sessions: list[Session] = []
        self._broken: psycopg.Error | None = None

    def __enter__(self) -> PostgresBatch:
        self._connection, self._trial = self._database.take()
        try:
            self._connection.begin(BEGIN_WRITE)
            tried = [(number, self._try_lock(number)) for number in sorted(self._wanted)]
            self.locked = {number for number, result in tried if _true(result)}
        except BaseException as error:
            self._give_up(error)
            raise
        self._database.open_batch(self)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._database.open_batch(None)
        if error is None and self.aborted:
            error = BatchAborted()
        if error is not None:
            # A connection that is lost is the same to all of them; any other error is the matter of one.
            self._give_up(self._broken if self._broken is not None and self._connection.closed else error)
            raise error
        try:
            self._conclude()
        except Exception as failure:
            self._give_up(failure)
            raise BatchAborted from failure
        self._database.give_back(self._connection, None, trial=self._trial)
        self._tell()

    def _conclude(self) -> None:
        session = self._session(None)
        session.deferred_writes = self.deferred_writes
        session.before_commit()
        self._connection.commit()

    def _give_up(self, error: BaseException) -> None:
        with suppress(psycopg.Error):
            self._connection.rollback()
        self._database.give_back(self._connection, error, trial=self._trial)

    def _tell(self) -> None:
        topics: set[str] = set()
        for session in self._sessions:
            topics |= session.topics
            session.topics = set()
            session.after_commit(self._database.signals)
        self._database.signals.publish(topics)

    # ---- the writes -------------------------------------------------------------------------------------------------

    def reading(self) -> _Looking:
        return _Looking(self._session(None))

    def writing(self) -> _Part:
        session = self._session(Journal())
        session.deferred_writes = dict(self.deferred_writes)
        return _Part(self, session)

    def done(self, session: Session) -> None:
        self._sessions.append(session)
        self.deferred_writes = session.deferred_writes

    def _session(self, journal: Journal | None) -> Session:
        return Session(self._driver, self._execute, self._lock, journal, self._execute_later)

    def _execute(self, sql: str, values: Any = ()) -> Result:
        if not sql.startswith("SELECT"):
            self.changed = True
        try:
            return self._connection.execute(sql, values)
        except psycopg.Error as error:
            self.aborted, self._broken = True, error
            raise

    def _execute_later(self, sql: str, values: Any = ()) -> Result:
        self.changed = True
        return self._connection.execute_later(sql, values)

    def _try_lock(self, number: int) -> Result:
        return self._connection.execute_later(TRY_LOCK, (self._lock_class, number))

    def _lock(self, number: int) -> None:
        if number in self.locked:
            return
        if not _true(self._execute(TRY_LOCK, (self._lock_class, number))):
            self.aborted = self.conflict = True
            raise LockFirst(number)
        self.locked.add(number)


class _Looking:
    """Looks at what is there now, with what the writes before have left."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, *_error: object) -> None:
        pass


class _Part:
    """A write that is committed together with others."""

    __slots__ = ("_batch", "_session")

    def __init__(self, batch: PostgresBatch, session: Session) -> None:
        self._batch = batch
        self._session = session

    def __enter__(self) -> Session:
        if self._batch.aborted:
            raise Unavailable
        self._batch.changed = False
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            self._batch.done(self._session)
            return
        if self._batch.changed:
            self._batch.aborted = True
        try:
            raise_storage_fault(error)
        except TransactionConflict:
            self._batch.conflict = True
            raise


def _true(result: Result) -> bool:
    row = result.fetchone()
    return row is not None and bool(row[0])
