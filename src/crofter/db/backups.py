"""Backup of a PostgreSQL database into one file, and restore. SQLite is copied as a file.

The compressed file begins with a line of JSON that lists the contents. Each table follows as a line of JSON and its
rows in COPY format, in pieces that each follow their length as a line; length 0 ends a table. A last line marks the
file as complete.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import psycopg
from msgspec import Struct
from psycopg.pq import Escaping

from crofter.db.database import Database
from crofter.db.tables import sorted_names
from crofter.db.tally import tally
from crofter.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from psycopg import Connection

    from crofter.db.postgres import PostgresDatabase

FORMAT = "crofter backup 1"
_COLUMNS = (
    b"SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a"
    b" ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''"
    b" WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname <> 'alembic_version'"
    b" GROUP BY c.relname"
)
_REFERENCES = (
    b"SELECT DISTINCT c.relname, r.relname FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid"
    b" JOIN pg_class r ON r.oid = f.confrelid WHERE f.contype = 'f' AND f.conrelid <> f.confrelid"
    b" AND f.connamespace = current_schema()::regnamespace"
)
END = b"end\n"
PIECE = 1 << 20


class Head(Struct, frozen=True):
    format: str
    revision: str
    sequences: dict[str, int | None]
    """The last number that each has given out; null if none."""


class TableHead(Struct, frozen=True):
    table: str
    columns: list[str]


def write(database: Database, file: IO[bytes], revision: str) -> int:
    """Everything as it is at one moment, while others write; how many tables it was."""
    with (
        _connected(database) as connection,
        connection.transaction(),
        gzip.GzipFile(fileobj=file, mode="wb", compresslevel=3) as out,
    ):
        connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        sequences = connection.execute(
            b"SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema()"
        ).fetchall()
        out.write(msgspec.json.encode(Head(FORMAT, revision, dict(sequences))) + b"\n")
        tables = _all_tables(connection)
        for table in tables:
            out.write(msgspec.json.encode(table) + b"\n")
            with connection.cursor().copy(f"COPY {_named(table.table, table.columns)} TO STDOUT".encode()) as copying:
                for rows in copying:
                    out.write(b"%d\n" % len(rows))
                    out.write(rows)
            out.write(b"0\n")
        out.write(END)
    return len(tables)


def _all_tables(connection: Connection[Any]) -> list[TableHead]:
    """Return the tables of the database from its own catalogue, referenced tables first."""
    columns = dict(connection.execute(_COLUMNS).fetchall())
    order = TopologicalSorter({name: set[str]() for name in sorted(columns)})
    for table, referred in connection.execute(_REFERENCES).fetchall():
        order.add(table, referred)
    return [TableHead(name, columns[name]) for name in order.static_order() if name in columns]


def read(database: Database, path: Path, revision: str) -> int:
    """Put everything back to what such a file holds, in one transaction; how many tables it was."""
    try:
        with gzip.open(path, "rb") as source, _connected(database) as connection, connection.transaction():
            head = _head(source)
            if head.revision != revision:
                raise Invalid(f"{path} has schema {head.revision}, and this release has {revision}")
            for name in (*reversed(sorted_names()), tally.name):  # the counts last, since the others count out
                connection.execute(f'DELETE FROM "{name}"'.encode())
            count = sum(1 for _ in _tables(connection, cast("IO[bytes]", source)))
            for name, last in head.sequences.items():
                connection.execute(b"SELECT setval(%s::regclass, %s, %s)", (f'"{name}"', last or 1, last is not None))
    except (EOFError, gzip.BadGzipFile, msgspec.DecodeError) as error:
        raise Invalid(f"{path} is no whole backup: {error}") from error
    except psycopg.Error as error:
        raise Unavailable(f"the backup cannot be put back: {error}") from error
    return count


def hash_keys(path: Path) -> dict[str, bytes]:
    """Return the rows of ``hash_key`` in such a file: sealed values by name."""
    try:
        with gzip.open(path, "rb") as source:
            _head(source)
            while (line := source.readline()) != END:
                table = msgspec.json.decode(line, type=TableHead)
                pieces = _rows(cast("IO[bytes]", source))
                if table.table == "hash_key":
                    return dict(_hash_key(table, row) for row in b"".join(pieces).splitlines())
                for _ in pieces:
                    pass
    except (EOFError, gzip.BadGzipFile, msgspec.DecodeError) as error:
        raise Invalid(f"{path} is no whole backup: {error}") from error
    return {}


def _hash_key(table: TableHead, row: bytes) -> tuple[str, bytes]:
    """Decode a row in COPY format, which doubles the backslashes of the text of a value."""
    fields = dict(zip(table.columns, row.replace(b"\\\\", b"\\").split(b"\t"), strict=True))
    return fields["name"].decode(), bytes(Escaping().unescape_bytea(fields["value"]))


class Contents(NamedTuple):
    """Names of what a PostgreSQL database holds."""

    tables: frozenset[str]
    functions: frozenset[str]


def contents(database: Database) -> Contents:
    with _connected(database) as connection:
        return _contents(connection)


def _contents(connection: Connection[Any]) -> Contents:
    tables = connection.execute(b"SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    functions = connection.execute(
        b"SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
    ).fetchall()
    return Contents(frozenset(name for (name,) in tables), frozenset(name for (name,) in functions))


def has_schema(before: Contents) -> bool:
    return "alembic_version" in before.tables


def drop_all_but(database: Database, before: Contents) -> None:
    """Remove the tables and functions that were made since ``before``."""
    with _connected(database) as connection, connection.transaction():
        now = _contents(connection)
        for name in sorted(now.tables - before.tables):
            connection.execute(f"DROP TABLE {_quoted(name)} CASCADE".encode())
        for name in sorted(now.functions - before.functions):
            connection.execute(f"DROP FUNCTION {_quoted(name)} CASCADE".encode())


def in_use(database: Database) -> bool:
    """True if a server or a worker uses the database: each holds a lock of class 2 while it runs."""
    with _connected(database) as connection:
        row = connection.execute(
            b"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 2 AND objsubid = 2"
            b" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
    return row is not None and row[0] > 0


def _head(source: Any) -> Head:
    head = msgspec.json.decode(source.readline(), type=Head)
    if head.format != FORMAT:
        raise Invalid(f"a backup of the form {head.format!r} is not known to this release")
    return head


def _tables(connection: Connection[Any], source: IO[bytes]) -> Iterator[str]:
    ours = set(sorted_names())
    while (line := source.readline()) != END:
        if not line:
            raise EOFError("it ends too early")
        table = msgspec.json.decode(line, type=TableHead)
        if table.table not in ours:  # a table of the operator next to ours
            for _ in _rows(source):
                pass
            continue
        with connection.cursor().copy(f"COPY {_named(table.table, table.columns)} FROM STDIN".encode()) as copying:
            for rows in _rows(source):
                copying.write(rows)
        yield table.table


def _rows(source: IO[bytes]) -> Iterator[bytes]:
    """The rows of one table, in pieces that fit into memory."""
    while length := int(source.readline()):
        while length:
            rows = source.read(min(length, PIECE))
            if not rows:
                raise EOFError("it ends too early")
            yield rows
            length -= len(rows)


def _named(table: str, columns: list[str]) -> str:
    return f'"{table}" ({", ".join(_quoted(column) for column in columns)})'


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _connected(database: Database) -> Connection[Any]:
    return cast("PostgresDatabase", database).connect()
