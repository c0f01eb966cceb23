"""Lock for advancing time: one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from crofter.db import Database, Session
from crofter.engine.heartbeat import TIME_TRAVEL
from crofter.errors import Unavailable

if TYPE_CHECKING:
    from psycopg import Connection

    from crofter.db.postgres import PostgresDatabase

_LOCK, _UNLOCK = "SELECT pg_advisory_lock(%s, 1)", "SELECT pg_advisory_unlock(%s, 1)"
_LOCK_CLAIMS, _UNLOCK_CLAIMS = "SELECT pg_advisory_lock(%s, 2)", "SELECT pg_advisory_unlock(%s, 2)"
_CLAIM = "SELECT pg_advisory_xact_lock_shared(%s, 2)"


def begin_claim(db: Session) -> None:
    """Register this transaction: an advance waits for its end, because it may have read the running clock."""
    if db.dialect != "sqlite":  # SQLite has a single writer anyway
        db.raw_later(_CLAIM, (TIME_TRAVEL,))


class TravelLock:
    """A lock of PostgreSQL's own, which frees it if this process dies. An embedded database has one process anyway.

    Its connection is kept: to open one takes longer than most journeys. Used by one thread at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection[Any] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        if self._database.dialect == "sqlite":
            yield
            return
        import psycopg  # noqa: PLC0415 - an embedded database needs none

        connection = self._locked()
        try:
            yield
        finally:
            try:
                connection.execute(_UNLOCK, (TIME_TRAVEL,))
            except psycopg.Error:
                self.close()  # frees the lock too

    def await_claims(self) -> None:
        """Until every claim has ended that may have read the clock before it was made to stand. Called while held."""
        if self._connection is None:
            return
        import psycopg  # noqa: PLC0415

        try:
            self._connection.execute(_LOCK_CLAIMS, (TIME_TRAVEL,))
            self._connection.execute(_UNLOCK_CLAIMS, (TIME_TRAVEL,))
        except psycopg.OperationalError as error:
            self.close()
            raise Unavailable from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _locked(self) -> Connection[Any]:
        import psycopg  # noqa: PLC0415

        if self._connection is not None:
            with suppress(psycopg.OperationalError):  # the server has been away since
                self._connection.execute(_LOCK, (TIME_TRAVEL,))
                return self._connection
            self.close()
        try:
            self._connection = cast("PostgresDatabase", self._database).connect()
            self._connection.execute(_LOCK, (TIME_TRAVEL,))
        except psycopg.OperationalError as error:
            self.close()
            raise Unavailable from error
        return self._connection
