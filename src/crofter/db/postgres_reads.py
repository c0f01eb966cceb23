"""Several reads of one thread at one moment of PostgreSQL: one transaction begins and ends for all of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from crofter.db.answering import raise_storage_fault
from crofter.db.database import Batch
from crofter.db.pipeline import BEGIN_READ
from crofter.db.session import Driver, Session

if TYPE_CHECKING:
    from crofter.db.postgres import PostgresDatabase


class PostgresReads(Batch):
    """After an error of the server there is no use in going on: those that have not read yet read elsewhere."""

    def __init__(self, database: PostgresDatabase, driver: Driver) -> None:
        self._database = database
        self._driver = driver
        self._broken: psycopg.Error | None = None

    def __enter__(self) -> PostgresReads:
        self._connection, self._trial = self._database.take()
        self._connection.begin(BEGIN_READ)
        connection = self._connection
        self._session = Session(self._driver, connection.execute, _refuse_lock, None, connection.execute_later)
        self._database.open_reads(self)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._database.open_reads(None)
        failure = error or self._broken
        try:
            if isinstance(failure, psycopg.Error):
                self._connection.rollback()
            else:
                self._connection.commit_unwatched()
        except psycopg.Error as broken:
            failure = failure or broken
        # The error was already raised to the reader; the other readers have their results.
        with suppress(Exception):
            self._database.give_back(self._connection, failure, trial=self._trial)

    def reading(self) -> _Reading:
        return _Reading(self, self._session)

    def failed(self, error: psycopg.Error) -> None:
        self.aborted, self._broken = True, error


class _Reading:
    """A read in a shared snapshot."""

    __slots__ = ("_reads", "_session")

    def __init__(self, reads: PostgresReads, session: Session) -> None:
        self._reads = reads
        self._session = session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, psycopg.Error):
            self._reads.failed(error)
            raise_storage_fault(error)


def _refuse_lock(_account_id: int) -> None:
    raise TypeError("who only reads holds no account")
