"""Copy of a few small tables in memory, readable while the database is unavailable."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from crofter.db.database import Database, TransactionConflict
from crofter.db.query import Query, query
from crofter.db.session import Session
from crofter.db.sql import ColumnElement, Table, create_table, select
from crofter.db.sqlite import session_on
from crofter.errors import Unavailable

log = logging.getLogger("crofter")

REFRESH_SECONDS = 10.0
RETRY_SECONDS = 0.5
"""Seconds between attempts while there is no copy."""


class MemoryCopy:
    """Copy of tables with the read interface of a database. Raises Unavailable before the first copy exists."""

    def __init__(self, *parts: tuple[Table, ColumnElement[bool]]) -> None:
        """``parts``: tables, and which of their rows."""
        self._selects = [(table, rows_of(table, wanted)) for table, wanted in parts]
        self._connection: apsw.Connection | None = None
        self._reading = threading.Lock()
        self._stopped = threading.Event()

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._reading:
            if self._connection is None:
                raise Unavailable
            yield session_on(self._connection)

    def take(self, database: Database) -> None:
        """Copy what is there now."""
        with database.read() as db:
            rows = [(table, db.all(statement)) for table, statement in self._selects]
        fresh = _filled(rows)
        with self._reading:
            self._connection = fresh

    def keep_fresh(self, database: Database) -> None:
        """Copy now, and again and again as long as the database can be read."""
        self._try_to_take(database)  # take the copy before serving: the database may become silent at any time

        def run() -> None:
            while not self._stopped.wait(RETRY_SECONDS if self._connection is None else REFRESH_SECONDS):
                self._try_to_take(database)

        threading.Thread(target=run, name="catalogue copy", daemon=True).start()

    def _try_to_take(self, database: Database) -> None:
        try:
            self.take(database)
        except (Unavailable, TransactionConflict):
            pass  # the former copy is what we have
        except Exception:
            log.exception("the catalogue could not be copied")

    def stop(self) -> None:
        self._stopped.set()


def rows_of(table: Table, wanted: ColumnElement[bool]) -> Query[tuple[Any, ...]]:
    return query(select(table).where(wanted), lambda *values: values)


def create(table: Table) -> Query[None]:
    return query(create_table(table))


def _filled(rows: Iterable[tuple[Table, list[tuple[Any, ...]]]]) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    db = session_on(connection)
    for table, copied in rows:
        connection.execute(create(table).compiled("sqlite").sql)
        names = table.c.keys()
        for values in copied:
            db.insert(table, **dict(zip(names, values, strict=True)))
    return connection
