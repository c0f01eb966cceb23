"""Reads of PostgreSQL that share a moment: each is its caller's own, sees what was written before it, and fails alone.

Each promise is a function, so that it can be seen to fail with a defect planted into the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import pytest

from crofter.db.pipeline import BEGIN_READ, PipelineConnection
from crofter.db.postgres import PostgresDatabase
from crofter.db.postgres_reads import PostgresReads
from crofter.edge.group_reads import GroupReads, _Actors
from crofter.edge.perform import refused
from crofter.edge.write_queue import Job
from crofter.errors import Unavailable
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.resources.followers import eventually

TAGS, PROFILE = "/v4/tags", "/v4/profile"


@pytest.fixture(scope="module")
def cloud(postgres_server: PostgresServer) -> Iterator[Cloud]:
    opened = Cloud(postgres_server.address(postgres_server.create()))
    opened.freeze()
    yield opened
    opened.close()


class Line:
    """Holds both reading threads while requests come in, so that one of them takes what waits."""

    def __init__(self, cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
        self._queue = cloud.application.app.threads.reads
        self._taken, self._go_on = threading.Semaphore(0), threading.Event()
        self.sizes: list[int] = []
        self.of_thread: dict[int, int] = {}
        """How many reads each thread is about."""
        together = self._queue._together

        def held(jobs: list[Job]) -> None:
            self.sizes.append(len(jobs))
            self._taken.release()
            assert self._go_on.wait(30)
            self.of_thread[threading.get_ident()] = len(jobs)
            together(jobs)

        patch.setattr(self._queue, "_together", held)

    def send(self, *calls: Callable[[], httpx2.Response]) -> list[httpx2.Response]:
        """The first two calls alone, one for each thread, the others behind them."""
        with ThreadPoolExecutor(len(calls)) as pool:
            sent: list[Future[httpx2.Response]] = []
            for number, call in enumerate(calls):
                sent.append(pool.submit(call))
                if number < 2:
                    assert self._taken.acquire(timeout=30)
                else:
                    eventually(partial(self._are_waiting, number - 1))
            self._go_on.set()
            return [future.result() for future in sent]

    def _are_waiting(self, count: int) -> bool:
        return self._queue._jobs.qsize() == count


def got(client: httpx2.Client, path: str = PROFILE) -> Callable[[], httpx2.Response]:
    return lambda: client.get(path)


# properties


def each_is_answered_for_its_own_token(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """Look up the same token once for all its requests, and never mix up tokens."""
    people = [cloud.person() for _ in range(3)]
    own = [person.get(PROFILE).json()["username"] for person in people]
    assert len(set(own)) == 3
    nobody = cloud.client("made-up")
    order = [people[0], people[1], people[2], people[0], nobody, people[1], people[2], people[0]]
    answers = Line(cloud, patch).send(*map(got, order))
    names = [answer.json().get("username", answer.status_code) for answer in answers]
    assert names == [own[0], own[1], own[2], own[0], 401, own[1], own[2], own[0]]


def nobody_misses_what_was_there_when_they_asked(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """Check that clients see their own writes, however long the threads were busy."""
    person = cloud.person()
    assert person.get(TAGS).json()["results"] == 0
    line = Line(cloud, patch)

    def asked() -> httpx2.Response:
        assert person.post(TAGS, json={"label": "just now"}).status_code == 200
        return person.get(TAGS)

    answers = line.send(got(person, TAGS), got(person, TAGS), asked, got(person, TAGS))
    assert [answer.json()["results"] for answer in answers[2:]] == [1, 1]


def one_lost_connection_costs_one_answer_at_most(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """The server hangs up in the middle: those that have not been read yet are read on another connection."""
    people = [cloud.person() for _ in range(8)]
    database = cloud.runtime.database
    assert isinstance(database, PostgresDatabase)
    execute, hung_up = PipelineConnection.execute, threading.Event()

    def hanging_up(self: PipelineConnection, sql: str, values: Any = ()) -> Any:
        if line.of_thread.get(threading.get_ident(), 0) > 1 and not hung_up.is_set():
            hung_up.set()
            process = self.connection.info.backend_pid
            with database.connect() as other:
                other.execute("SELECT pg_terminate_backend(%s)", (process,))
                eventually(lambda: _is_gone(other, process))
        return execute(self, sql, values)

    line = Line(cloud, patch)
    patch.setattr(PipelineConnection, "execute", hanging_up)
    statuses = [answer.status_code for answer in line.send(*map(got, people))]
    assert hung_up.is_set()
    assert statuses.count(503) <= 1, statuses
    assert set(statuses) <= {200, 503}


def _is_gone(other: Any, process: int) -> bool:
    return not other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (process,)).fetchall()


PROMISES = (
    each_is_answered_for_its_own_token,
    nobody_misses_what_was_there_when_they_asked,
    one_lost_connection_costs_one_answer_at_most,
)


@pytest.mark.parametrize("promise", PROMISES)
def test_it_is_kept(
    promise: Callable[[Cloud, pytest.MonkeyPatch], None], cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(cloud, monkeypatch)


def test_what_waits_is_read_at_one_moment(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    person = cloud.person()
    begun: list[int] = []
    enter = PostgresReads.__enter__
    monkeypatch.setattr(PostgresReads, "__enter__", lambda self: begun.append(1) or enter(self))
    line = Line(cloud, monkeypatch)
    answers = line.send(*(got(person) for _ in range(10)))
    assert [answer.status_code for answer in answers] == [200] * 10
    assert line.sizes[:2] == [1, 1]
    assert sum(line.sizes) == 10
    assert max(line.sizes) >= 4
    assert len(begun) == len(line.sizes)


# ---- planted defects ------------------------------------------------------------------------------------------------


def one_token_stands_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Actors, "of", lambda self, _request: next(iter(self._looked_up.values()))())


def the_moment_began_before_they_asked(patch: pytest.MonkeyPatch) -> None:
    enter = PostgresReads.__enter__
    early: list[PipelineConnection] = []

    def entered(self: PostgresReads) -> PostgresReads:
        if not early:  # the first read of the promise: all that follow see what it saw
            for _ in range(6):
                connection, _trial = self._database.take()
                connection.begin(BEGIN_READ)
                connection.execute("SELECT count(*) FROM tag")
                early.append(connection)
        taken = enter(self)
        self._connection.commit_unwatched()
        self._database.give_back(self._connection, None, trial=False)
        self._connection = early.pop()
        self._session._execute = self._connection.execute
        self._session._execute_later = self._connection.execute_later
        return taken

    patch.setattr(PostgresReads, "__enter__", entered)


def no_fallback(patch: pytest.MonkeyPatch) -> None:
    """Return failures of a group without the fallback to single reads."""

    def given_up(self: GroupReads, job: Job) -> None:
        self._tell([job], [refused(Unavailable(), None)])

    patch.setattr(GroupReads, "_alone", given_up)


@pytest.mark.parametrize(
    ("defect", "promise"),
    [
        (one_token_stands_for_all, each_is_answered_for_its_own_token),
        (the_moment_began_before_they_asked, nobody_misses_what_was_there_when_they_asked),
        (no_fallback, one_lost_connection_costs_one_answer_at_most),
    ],
)
def test_a_planted_defect_is_seen(
    defect: Callable[[pytest.MonkeyPatch], None],
    promise: Callable[[Cloud, pytest.MonkeyPatch], None],
    cloud: Cloud,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        promise(cloud, monkeypatch)
