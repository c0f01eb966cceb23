"""Copies of the whole database that it can be put back to. They are no part of what is copied."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec
from msgspec import Struct

from crofter.db import sqlite_file
from crofter.db.database import Database
from crofter.db.tables import metadata, sorted_names
from crofter.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from psycopg import Connection

    from crofter.db.sql import Table
    from crofter.db.sqlite import SqliteDatabase

ATTEMPTS = 5
"""How often it is tried to put rows back while requests of other processes hold locks on them."""


class Snapshot(Struct, frozen=True):
    name: str
    created: str
    """In service time."""
    bytes: int
    revision: str
    """Schema revision of the snapshot. A restore needs the same revision."""


class Snapshots(Protocol):
    """The caller sees to it that nothing else writes while one is taken or put back."""

    def take(self, name: str, created: str, revision: str) -> Snapshot:
        """Copy everything, in the place of an older copy of that name."""

    def all(self) -> list[Snapshot]:
        """In the order of their names."""

    def restore(self, name: str) -> None:
        """Put everything back, or raise NotFound."""

    def delete(self, name: str) -> None:
        """Raises NotFound."""


def snapshots_of(database: Database) -> Snapshots:
    if database.dialect == "sqlite":
        return FileSnapshots(cast("SqliteDatabase", database))
    return SchemaSnapshots(database)


class FileSnapshots:
    """A file for each, in a folder beside the database."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._folder = database.path.parent / "snapshots"

    def take(self, name: str, created: str, revision: str) -> Snapshot:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        whole = self._folder / f"{name}.new"
        whole.unlink(missing_ok=True)
        try:
            self._database.copy_to(whole)
            kept = Snapshot(name, created, whole.stat().st_size, revision)
            (self._folder / f"{name}.json").write_bytes(msgspec.json.encode(kept))
            # Rename last: a kill before this line leaves the older copy and an unused file.
            whole.rename(self._path(name))
            sqlite_file.sync(self._folder)
        except OSError as error:
            raise Unavailable(f"The snapshot cannot be written: {error.strerror}") from error
        finally:
            whole.unlink(missing_ok=True)
        return kept

    def all(self) -> list[Snapshot]:
        names = sorted(path.stem for path in self._folder.glob("*.db")) if self._folder.is_dir() else []
        return [self._described(name) for name in names]

    def _described(self, name: str) -> Snapshot:
        path = self._path(name)
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self._folder / f"{name}.json").read_bytes(), type=Snapshot)
        return Snapshot(name, "", path.stat().st_size, "")

    def restore(self, name: str) -> None:
        path = self._path(name)
        if not path.exists():
            raise NotFound
        self._database.copy_from(path)

    def delete(self, name: str) -> None:
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise NotFound from None
        (self._folder / f"{name}.json").unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.db"


class SchemaSnapshots:
    """A schema for each, in the same database, with a table of the same rows for every table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _connect(self) -> Connection[Any]:
        from crofter.db.postgres import PostgresDatabase  # noqa: PLC0415 - only who uses it pays for it

        return cast("PostgresDatabase", self._database).connect()

    def take(self, name: str, created: str, revision: str) -> Snapshot:
        with self._connect() as connection, connection.transaction():
            schema = self._schema(connection, name)
            tables = sorted_names()
            copies = "; ".join(f'CREATE TABLE "{schema}"."{table}" AS TABLE "{table}"' for table in tables)
            connection.execute(
                f'DROP SCHEMA IF EXISTS "{schema}" CASCADE; CREATE SCHEMA "{schema}"; {copies};'
                f'CREATE TABLE "{schema}"."{_SEQUENCES}" AS SELECT sequencename, last_value FROM pg_sequences'
                " WHERE schemaname = current_schema()".encode()
            )
            size = self._size(connection, schema)
            kept = Snapshot(name, created, size, revision)
            described = msgspec.json.encode(kept).decode().replace("'", "''")
            connection.execute(f"COMMENT ON SCHEMA \"{schema}\" IS '{described}'".encode())
        return kept

    def all(self) -> list[Snapshot]:
        with self._database.read() as db:  # uses a pooled connection: every reset of a sandbox runs this
            rows = db.raw(
                "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace"
                " WHERE starts_with(nspname, current_schema() || '_snapshot_')"
            ).fetchall()
        kept = [msgspec.json.decode(described, type=Snapshot) for (described,) in rows if described]
        return sorted(kept, key=lambda snapshot: snapshot.name)

    def restore(self, name: str) -> None:
        import psycopg  # noqa: PLC0415

        whole = False
        for _ in range(ATTEMPTS):
            try:
                with self._connect() as connection, connection.transaction():
                    self._put_back(connection, self._existing(connection, name), whole=whole)
                return
            except psycopg.errors.UniqueViolation:
                if whole:
                    raise
                whole = True  # two rows have changed names, so that neither can be changed back first
            except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
                continue
        raise Unavailable

    def _put_back(self, connection: Connection[Any], schema: str, *, whole: bool) -> None:
        tables = metadata.sorted_tables
        # Others may read what was before until this is done, and write nothing that would outlast it.
        names = ", ".join(_quoted(table.name) for table in tables)
        connection.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE".encode())
        # The counts are put back as rows. Were each deleted row counted out, one count would have thousands of versions
        # in this transaction, and every change of it would go through them all.
        _switch_triggers(connection, "DISABLE")
        if whole:
            _replace_all(connection, tables, schema)
        else:
            _replace_changed(connection, tables, schema)
        sequences = connection.execute(f'SELECT sequencename, last_value FROM "{schema}"."{_SEQUENCES}"'.encode())
        for sequence, last in sequences.fetchall():
            connection.execute(b"SELECT setval(%s::regclass, %s, %s)", (_quoted(sequence), last or 1, last is not None))
        _switch_triggers(connection, "ENABLE")

    def delete(self, name: str) -> None:
        with self._connect() as connection, connection.transaction():
            connection.execute(f'DROP SCHEMA "{self._existing(connection, name)}" CASCADE'.encode())

    def _existing(self, connection: Connection[Any], name: str) -> str:
        schema = self._schema(connection, name)
        row = connection.execute(b"SELECT to_regnamespace(%s)", (_quoted(schema),)).fetchone()
        if row is None or row[0] is None:
            raise NotFound
        return schema

    def _schema(self, connection: Connection[Any], name: str) -> str:
        """A name may be longer than PostgreSQL lets a schema's be, so it is made of a hash."""
        row = connection.execute(b"SELECT current_schema()").fetchone()
        assert row is not None
        return f"{row[0][:24]}_snapshot_{hashlib.sha256(name.encode()).hexdigest()[:24]}"

    def _size(self, connection: Connection[Any], schema: str) -> int:
        row = connection.execute(
            b"SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            b" WHERE n.nspname = %s AND c.relkind = 'r'",
            (schema,),
        ).fetchone()
        return int(row[0]) if row else 0


_SEQUENCES = "sequences of a snapshot"


def _switch_triggers(connection: Connection[Any], to: Literal["ENABLE", "DISABLE"]) -> None:
    """Switch our own triggers in this transaction alone. Foreign keys stay enforced."""
    triggers = connection.execute(
        b"SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        b" WHERE n.nspname = current_schema()"
        b" AND EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)"
    ).fetchall()
    orders = "; ".join(f"ALTER TABLE {_quoted(name)} {to} TRIGGER USER" for (name,) in triggers)
    if orders:
        connection.execute(orders.encode())


def _references(connection: Connection[Any]) -> list[tuple[str, str]]:
    """Table and name of each foreign key."""
    return connection.execute(
        b"SELECT c.conrelid::regclass::text, c.conname FROM pg_constraint c"
        b" JOIN pg_namespace n ON n.oid = c.connamespace"
        b" WHERE n.nspname = current_schema() AND c.contype = 'f' AND NOT c.condeferrable"
    ).fetchall()


def _alter_references(
    connection: Connection[Any], references: list[tuple[str, str]], to: Literal["DEFERRABLE", "NOT DEFERRABLE"]
) -> None:
    """In this transaction alone, as far as others can see."""
    orders = "; ".join(f"ALTER TABLE {table} ALTER CONSTRAINT {_quoted(name)} {to}" for table, name in references)
    if orders:
        connection.execute(orders.encode())


def _replace_all(connection: Connection[Any], tables: Sequence[Table], schema: str) -> None:
    for table in reversed(tables):
        connection.execute(f"DELETE FROM {_quoted(table.name)}".encode())
    for table in tables:
        connection.execute(_insert_missing(table, schema).encode())


def _replace_changed(connection: Connection[Any], tables: Sequence[Table], schema: str) -> None:
    """Leave rows that are as they were: to look whether each may go and come back takes longer than all else.

    A row may be referred to before it is back, so references are looked at last. A row that takes others along when it
    goes, or is taken out of them, has gone before these are compared.
    """
    references = _references(connection)
    _alter_references(connection, references, "DEFERRABLE")
    connection.execute(b"SET CONSTRAINTS ALL DEFERRED")
    for table in reversed(tables):
        connection.execute(_delete_added(table, schema).encode())
    for table in tables:
        if len(table.columns) > len(table.primary_key):
            connection.execute(_update_changed(table, schema).encode())
    for table in tables:
        connection.execute(_insert_missing(table, schema).encode())
    connection.execute(b"SET CONSTRAINTS ALL IMMEDIATE")
    _alter_references(connection, references, "NOT DEFERRABLE")


def _delete_added(table: Table, schema: str) -> str:
    return (
        f"DELETE FROM {_quoted(table.name)} t"
        f' WHERE NOT EXISTS (SELECT FROM "{schema}".{_quoted(table.name)} s WHERE {_same_key(table)})'
    )


def _update_changed(table: Table, schema: str) -> str:
    """Return the statement that updates the rows that differ."""
    names = [_quoted(column.name) for column in table.columns if not column.primary_key]
    values = ", ".join(f"{name} = s.{name}" for name in names)
    return (
        f'UPDATE {_quoted(table.name)} t SET {values} FROM "{schema}".{_quoted(table.name)} s'
        f" WHERE {_same_key(table)} AND NOT record_image_eq(t.*, s.*)"
    )


def _insert_missing(table: Table, schema: str) -> str:
    columns = ", ".join(_quoted(column.name) for column in table.columns)
    return (
        f"INSERT INTO {_quoted(table.name)} ({columns}) OVERRIDING SYSTEM VALUE"
        f' SELECT {columns} FROM "{schema}".{_quoted(table.name)} s'
        f" WHERE NOT EXISTS (SELECT FROM {_quoted(table.name)} t WHERE {_same_key(table)})"
    )


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.{_quoted(column.name)} = s.{_quoted(column.name)}" for column in table.primary_key)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
