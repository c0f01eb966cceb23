"""Where secrets must not be: all that a server leaves behind, read as bytes."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.databases import PostgresServer
from tests.served import run

LISTS = ("users list", "tokens list")
"""Output of ``crofter admin`` without secrets. Mails contain secret links."""
KEY_FILE = "secret.key"


def complaint(table: str) -> str:
    """A word that the database says when an insert was made to fail, and at no other time."""
    return f"refuses_{table}_rows"


class SqliteStore:
    """A data folder."""

    files = ("file crofter.db", "file backup.db", "file crofter.db-wal, meanwhile", "backup, as text")
    """Where everything is that was ever written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.flags = ("--data", str(folder))

    def run(self, statements: Sequence[str]) -> None:
        connection = sqlite3.connect(self.folder / "crofter.db", isolation_level=None, timeout=20)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    def break_inserts(self, table: str) -> str:
        words = complaint(table)
        return f"CREATE TRIGGER {words} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, '{words}'); END"

    def restore_inserts(self, table: str) -> str:
        return f"DROP TRIGGER {complaint(table)}"

    def meanwhile(self) -> Iterator[tuple[str, bytes]]:
        """Yield files that exist only while the server runs."""
        yield "file crofter.db-wal, meanwhile", (self.folder / "crofter.db-wal").read_bytes()

    def places(self, scratch: Path) -> Iterator[tuple[str, bytes]]:
        for file in sorted(self.folder.rglob("*")):
            if file.is_file() and file.name != KEY_FILE:
                yield f"file {file.name}", file.read_bytes()
        backup = scratch / "backup.db"
        with sqlite3.connect(self.folder / "crofter.db") as live, sqlite3.connect(backup) as copy:
            live.backup(copy)
        yield "file backup.db", backup.read_bytes()
        yield "backup, as text", "\n".join(copy.iterdump()).encode()


class PostgresStore:
    """A database of a server whose own files can be read."""

    files = ("file base", "file pg_wal", "every table, as text", "backup, as text")

    def __init__(self, server: PostgresServer, name: str) -> None:
        self._server, self._name = server, name
        self.address = server.address(name)
        self.flags = ("--database", self.address)
        self._first_segment = self._value("SELECT pg_walfile_name(pg_current_wal_lsn())")
        self._logged = {file: file.stat().st_size for file in self._logs()}
        self._number = self._value("SELECT oid::text FROM pg_database WHERE datname = current_database()")

    def _value(self, statement: str) -> str:
        with psycopg.connect(self.address) as connection:
            row: Any = connection.execute(statement.encode()).fetchone()
            return str(row[0])

    def run(self, statements: Sequence[str]) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def break_inserts(self, table: str) -> str:
        return f"ALTER TABLE {table} ADD CONSTRAINT {complaint(table)} CHECK (false) NOT VALID"

    def restore_inserts(self, table: str) -> str:
        return f"ALTER TABLE {table} DROP CONSTRAINT {complaint(table)}"

    def meanwhile(self) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def places(self, scratch: Path) -> Iterator[tuple[str, bytes]]:
        self.run(["CHECKPOINT"])
        folder = self._server.data
        tables = (folder / "base" / self._number).iterdir()
        yield "file base", b"\n".join(file.read_bytes() for file in tables)
        segments = (
            path for path in (folder / "pg_wal").iterdir() if path.is_file() and path.name >= self._first_segment
        )
        yield "file pg_wal", b"\n".join(file.read_bytes() for file in segments)
        for file in self._logs():
            yield f"log of the server, {file.name}", _statements(file.read_bytes()[self._logged.get(file, 0) :])
        yield "every table, as text", b"\n".join(self._rows())
        dumped = subprocess.run([self._server.program("pg_dump"), self.address], capture_output=True, check=True)
        yield "backup, as text", dumped.stdout

    def _logs(self) -> list[Path]:
        return sorted(file for file in self._server.data.rglob("*log") if file.is_file())

    def _rows(self) -> Iterator[bytes]:
        with psycopg.connect(self.address) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (table,) in tables:
                for row in connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table))):
                    yield str(row[0]).encode()


def _statements(log: bytes) -> bytes:
    """Return the logged statements without the database's own numbers: a process id may equal a card's digits."""
    lines = [line for line in log.splitlines(keepends=True) if b"LOG:  checkpoint " not in line]
    return re.sub(rb"(?m)^(\S+ \S+ \S+) \[\d+\]", rb"\1", b"".join(lines))


Store = SqliteStore | PostgresStore


def output_of_commands(store: Store, env: dict[str, str]) -> bytes:
    """Return the output of the operator's commands."""
    printed = b""
    for command in LISTS:
        ended = run("admin", *command.split(), "--json", *store.flags, env=env)
        assert ended.returncode == 0, ended.stderr
        printed += ended.stdout.encode() + ended.stderr.encode()
    return printed
