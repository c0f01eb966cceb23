"""Move of all rows of an SQLite database into an empty PostgreSQL database, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import psycopg
from sqlalchemy import Boolean, Table

from crofter.db.database import Database
from crofter.db.session import Session
from crofter.db.tables import metadata, sorted_names
from crofter.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from psycopg import Connection

    from crofter.db.postgres import PostgresDatabase

_OTHERS = (
    b"SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND NOT EXISTS"
    b" (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'alembic_version') LIMIT 1"
)


def must_be_empty(target: Database) -> None:
    """Raise unless the target is empty: no rows in our tables, no other tables. Runs before the tables are created."""
    with _connected(target) as connection:
        if connection.execute(_OTHERS).fetchone() is not None:
            raise Invalid("the database has tables that are not crofter's: give crofter a database of its own")
        for name in sorted_names():
            there = connection.execute(b"SELECT to_regclass(%s)", (_quoted(name),)).fetchone()
            if there is None or there[0] is None:
                continue
            if connection.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1".encode()).fetchone() is not None:
                raise Invalid("there is a crofter database already, and it is not empty: nothing was moved")


def move(source: Database, target: Database) -> dict[str, int]:
    """Copy every row as it is, and go on with ids where the source would have; how many rows of each table."""
    try:
        with source.read() as db, _connected(target) as connection, connection.transaction():
            moved = {table.name: _copy(db, connection, table) for table in metadata.sorted_tables}
            for name, last in db.raw("SELECT name, seq FROM sqlite_sequence").fetchall():
                # Also of rows that are gone: an id is never given out twice.
                sequence = "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)"
                connection.execute(sequence.encode(), (_quoted(name), max(last, 1)))
            _compare(connection, moved)
    except psycopg.Error as error:
        raise Unavailable(f"nothing was moved: {error}") from error
    return moved


def _copy(db: Session, connection: Connection[Any], table: Table) -> int:
    columns = ", ".join(_quoted(column.name) for column in table.columns)
    flags = [isinstance(column.type, Boolean) for column in table.columns]
    rows = db.raw(f"SELECT {columns} FROM {_quoted(table.name)}")
    count = 0
    with connection.cursor().copy(f"COPY {_quoted(table.name)} ({columns}) FROM STDIN".encode()) as copying:
        for row in _converted(rows, flags):
            copying.write_row(row)
            count += 1
    return count


def _converted(rows: Iterable[tuple[Any, ...]], flags: list[bool]) -> Iterator[tuple[Any, ...]]:
    """SQLite keeps yes and no as numbers. All other types are the same in both."""
    if not any(flags):
        yield from rows
        return
    for row in rows:
        yield tuple(
            bool(value) if flag and value is not None else value for value, flag in zip(row, flags, strict=True)
        )


def _compare(connection: Connection[Any], moved: dict[str, int]) -> None:
    for name, count in moved.items():
        there = connection.execute(f"SELECT count(*) FROM {_quoted(name)}".encode()).fetchone()
        if there is None or there[0] != count:
            raise Unavailable(f"nothing was moved: {count} rows of {name} became {there and there[0]}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _connected(database: Database) -> Connection[Any]:
    return cast("PostgresDatabase", database).connect()
