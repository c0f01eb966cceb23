"""Suspended PostgreSQL: requests are refused in time, the catalogue is served, and service resumes by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any, cast

import httpx2
import psycopg
import pytest

from crofter.db import Database, Session, answering, deadlines, memory_copy
from crofter.db.database import TransactionConflict
from crofter.db.postgres import PostgresDatabase
from crofter.errors import Unavailable
from tests.databases import PostgresServer
from tests.resources.followers import eventually
from tests.served import Process, serving

PROMISED_SECONDS = 5.0
SPARE_SECONDS = 3.0
"""For a machine that has other things to do. The server answers within four seconds."""
CALLERS = 24
"""More than there are threads."""
MACHINE = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "Vq7!mmpx-Tolp"}


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that may be harmed."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def crofter(own_server: PostgresServer) -> Iterator[Process]:
    with serving("--database", own_server.address(own_server.empty())) as server:
        yield server


def timed(call: Callable[..., httpx2.Response], *arguments: Any, **options: Any) -> tuple[httpx2.Response, float]:
    began = time.monotonic()
    return call(*arguments, **options), time.monotonic() - began


def test_everybody_is_told_within_five_seconds_and_served_as_soon_as_it_goes_on(
    own_server: PostgresServer, crofter: Process
) -> None:
    with crofter.client() as client, crofter.client(None) as stranger, ThreadPoolExecutor(CALLERS) as callers:

        def ask(number: int) -> tuple[httpx2.Response, float]:
            if number % 2:
                return timed(client.post, "/v4/tags", json={"label": f"silent {number}"})
            return timed(client.get, "/v4/tags")

        assert client.get("/v4/tags").status_code == 200
        with own_server.stopped():
            asked = [callers.submit(ask, number) for number in range(CALLERS)]
            assert timed(stranger.get, "/health/live")[1] < PROMISED_SECONDS / 2
            for answer, seconds in (caller.result() for caller in asked):
                assert answer.status_code == 503
                assert answer.headers["retry-after"] == "1"
                assert seconds < PROMISED_SECONDS + SPARE_SECONDS
            eventually(lambda: stranger.get("/health/ready").status_code == 503)
            assert stranger.get("/health/ready").json()["parts"]["database"] is False
        eventually(lambda: client.get("/v4/tags").status_code == 200, PROMISED_SECONDS)
        assert client.post("/v4/tags", json={"label": "afterwards"}).status_code == 200
        eventually(lambda: stranger.get("/health/ready").status_code == 200)


def test_the_catalogue_is_served_while_the_database_is_silent(own_server: PostgresServer, crofter: Process) -> None:
    """Even by a server that had just started when that began."""
    paths = ("/v4/regions", "/v4/regions/us-east", "/v4/compute/types", "/v4/compute/kernels?page=2", "/v4/images")
    with crofter.client(None) as stranger, crofter.client() as client:
        with own_server.stopped():
            answers = {path: timed(stranger.get, path) for path in paths}
            assert client.get("/v4/compute/types").status_code == 200  # a token that cannot be checked is no hindrance
            assert stranger.get("/v4/regions/nowhere").status_code == 404
            # With a token there would be images of the account's own among them, which only the database knows.
            assert client.get("/v4/images").status_code == 503
        eventually(lambda: client.get("/v4/images").status_code == 200, PROMISED_SECONDS)
        for path, (answer, seconds) in answers.items():
            assert (answer.status_code, answer.content) == (200, stranger.get(path).content), crofter.log()
            assert seconds < PROMISED_SECONDS


def test_the_catalogue_is_copied_before_anybody_is_served_and_soon_again_if_that_failed(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail a single statement, as a lock timeout would."""
    monkeypatch.setattr(memory_copy, "REFRESH_SECONDS", 3600.0)
    database = PostgresDatabase(postgres_server.address(postgres_server.create()))

    class Failing:
        def __init__(self, *failures: Exception) -> None:
            self.failures = list(failures)
            self.threads: list[int] = []

        def read(self) -> AbstractContextManager[Session]:
            self.threads.append(threading.get_ident())
            if self.failures:
                raise self.failures.pop()
            return database.read()

    def begun(source: Failing) -> memory_copy.MemoryCopy:
        kept = memory_copy.MemoryCopy()
        kept.keep_fresh(cast("Database", source))
        assert source.threads[0] == threading.get_ident(), "who starts the server waits for it"
        return kept

    def can_be_read() -> bool:
        with suppress(Unavailable), kept.read():
            return True
        return False

    kept = begun(Failing())
    assert can_be_read()
    kept.stop()
    kept = begun(Failing(TransactionConflict(), Unavailable()))
    eventually(can_be_read)
    kept.stop()
    database.close()


def test_work_under_way_goes_on_where_it_was(own_server: PostgresServer, crofter: Process) -> None:
    with crofter.client() as client:
        made = client.post("/v4/compute/instances", json=MACHINE).json()
        with own_server.stopped():
            assert client.get("/v4/tags").status_code == 503
        path = f"/v4/compute/instances/{made['id']}"

        def runs() -> bool:
            answer = client.get(path)
            return answer.status_code == 200 and answer.json()["status"] == "running"

        eventually(runs, 60)


def test_a_statement_that_is_not_answered_ends_and_its_connection_is_not_used_again(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(own_server.address(own_server.empty()))
    with database.read() as db:
        db.raw("SELECT 1")
    monkeypatch.setattr(deadlines, "STATEMENT_SECONDS", 0.3)
    with own_server.stopped(), pytest.raises(Unavailable), database.read() as db:
        db.raw("SELECT 2")
    monkeypatch.undo()
    with database.read() as db:
        assert db.raw("SELECT 3").fetchall() == [(3,)]
    database.close()


def test_a_connection_that_the_server_has_closed_is_not_handed_out(own_server: PostgresServer) -> None:
    address = own_server.address(own_server.empty())
    database = PostgresDatabase(address)
    with database.read() as db:
        [(process,)] = db.raw("SELECT pg_backend_pid()").fetchall()
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (process,))
    with database.read() as db:
        assert db.raw("SELECT pg_backend_pid()").fetchall() != [(process,)]
    database.close()


class Slow:
    """Statements that take longer than the server may be silent, read by threads that answer callers."""

    def __init__(self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deadlines, "CALLER_SECONDS", 0.3)
        monkeypatch.setattr(deadlines, "LOOK_SECONDS", 0.2)
        monkeypatch.setattr(answering, "SILENCE", 0.1)
        self.database = PostgresDatabase(server.address(server.empty()))
        self.asked = 0
        ask = self.database._ask

        def counted() -> None:
            self.asked += 1
            ask()

        monkeypatch.setattr(self.database, "_ask", counted)

    def read(self, seconds: float = 1.5) -> None:
        self.database.answers_callers()
        with self.database.read() as db:
            db.raw(f"SELECT pg_sleep({seconds})")

    def write(self) -> None:
        self.database.answers_callers()
        with self.database.write() as db:
            db.raw("SELECT pg_sleep(1.5)")


@pytest.fixture
def slow(own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow(own_server, monkeypatch)
    yield made
    made.database.close()


def test_slow_reads_of_a_server_that_lives_are_not_given_up(slow: Slow) -> None:
    with ThreadPoolExecutor(6) as threads:
        for reading in [threads.submit(slow.read) for _ in range(6)]:
            reading.result()
    assert 0 < slow.asked < 6 * 1.5 / 0.2, "one thread asks for all"


def test_a_slow_read_ends_when_the_server_falls_silent(
    own_server: PostgresServer, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "STATEMENT_SECONDS", 600.0)
    with ThreadPoolExecutor(3) as threads:
        reading = [threads.submit(slow.read, 600) for _ in range(3)]
        eventually(lambda: slow.asked > 1)
        with own_server.stopped():
            for read in reading:
                with pytest.raises(Unavailable):
                    read.result(60)


def test_a_read_is_given_up_in_the_end(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "STATEMENT_SECONDS", 3.0)
    with ThreadPoolExecutor(1) as threads, pytest.raises(Unavailable):
        threads.submit(slow.read, 600).result(60)
    assert slow.asked


def test_a_slow_write_is_given_up_as_it_holds_locks(slow: Slow) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(Unavailable):
        threads.submit(slow.write).result(60)
    assert slow.asked == 0


def test_transactions_without_a_statement_do_not_hide_a_silent_server(
    own_server: PostgresServer, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is refused for its token sends none, and hears nothing from the server."""
    monkeypatch.setattr(deadlines, "STATEMENT_SECONDS", 60.0)
    over = threading.Event()

    def refuse() -> None:
        while not over.is_set():
            with suppress(Unavailable), slow.database.read():
                pass

    with ThreadPoolExecutor(2) as threads:
        read = threads.submit(slow.read, 60)
        eventually(lambda: slow.asked > 0)
        with own_server.stopped():
            refusing = threads.submit(refuse)
            try:
                with pytest.raises(Unavailable):
                    read.result(30)
            finally:
                over.set()
                refusing.result()


def test_who_has_waited_already_is_told_sooner(own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for a thread and a rate limit counts, or a list takes longer than was promised."""
    for name in ("CALLER_SECONDS", "LOOK_SECONDS", "STATEMENT_SECONDS"):
        monkeypatch.setattr(deadlines, name, 600.0)
    database = PostgresDatabase(own_server.address(own_server.empty()))
    database.answers_callers()
    with database.read() as db:
        db.raw("SELECT 1")
    before = time.monotonic() - deadlines.TOLD_SECONDS
    with own_server.stopped():
        for transaction in (database.read, database.write):
            with database.caller_waits_since(before), pytest.raises(Unavailable), transaction() as db:
                db.raw("SELECT 2")
    with database.caller_waits_since(before), database.read() as db:  # a server that answers is waited for
        assert db.raw("SELECT 3 FROM pg_sleep(0.5)").fetchall() == [(3,)]
    database.close()
