"""Grouped writes on PostgreSQL: each succeeds or fails alone, and is acknowledged after the commit.

Each property is a function, so that a planted defect in the server can make it fail.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import psycopg
import pytest

from crofter import audit
from crofter.context import Context
from crofter.db.locks import ACCOUNTS
from crofter.db.pipeline import PipelineConnection
from crofter.db.postgres import PostgresDatabase
from crofter.db.postgres_batch import PostgresBatch
from crofter.edge.group_writes import GroupWrites
from crofter.edge.perform import Answer, Performer
from crofter.edge.write_queue import Job
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.resources.followers import eventually
from tests.served import TOKEN, Process, serving

TAGS = "/v4/tags"


@pytest.fixture(scope="module")
def address(postgres_server: PostgresServer) -> str:
    return postgres_server.address(postgres_server.create())


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of the keys that all servers of one database share."""
    return str(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def shared(address: str, keys: str) -> Iterator[Cloud]:
    cloud = Cloud(address, data=keys)
    cloud.freeze()  # no other writer
    yield cloud
    cloud.close()


class Line:
    """Holds the writer while requests come in, so that those behind the first are taken together."""

    def __init__(self, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        queue = cloud.application.app.threads.writes
        assert isinstance(queue, GroupWrites)
        self._queue = queue
        self._taken, self._go_on = threading.Event(), threading.Event()
        self.sizes: list[int] = []
        together = queue._together

        def held(jobs: list[Job]) -> None:
            self._taken.set()
            assert self._go_on.wait(30)
            self.sizes.append(len(jobs))
            together(jobs)

        monkeypatch.setattr(queue, "_together", held)

    def send(self, *calls: Callable[[], httpx2.Response]) -> list[httpx2.Response]:
        """Send the first call alone, and the others together behind it."""
        with ThreadPoolExecutor(len(calls)) as pool:
            sent: list[Future[httpx2.Response]] = []
            for number, call in enumerate(calls):
                sent.append(pool.submit(call))
                assert self._taken.wait(30)
                eventually(partial(self._are_waiting, number))
            self._go_on.set()
            return [future.result() for future in sent]

    def _are_waiting(self, count: int) -> bool:
        return self._queue._jobs.qsize() == count


def tagged(client: httpx2.Client, label: str) -> Callable[[], httpx2.Response]:
    return lambda: client.post(TAGS, json={"label": label})


def labels(client: httpx2.Client) -> set[str]:
    return {row["label"] for row in client.get(TAGS).json()["data"]}


# properties


def one_failure_harms_nobody_else(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """A write that fails after it has changed something leaves no trace; those that shared its commit stand."""
    people = [cloud.person() for _ in range(3)]
    write = audit.write

    def failing(ctx: Context, operation: str, path: str, fields: list[str]) -> None:
        write(ctx, operation, path, fields)
        if ctx.caller is not None and ctx.actor.account_id == doomed:
            raise ZeroDivisionError

    doomed = -1
    with cloud.runtime.database.read() as db:
        token = people[1].headers["authorization"].removeprefix("Bearer ")
        actor = cloud.application.app.parts.performer.access.authenticate(cloud.runtime, db, token)
        assert actor is not None
        doomed = actor.account_id
    patch.setattr(audit, "write", failing)
    calls = [tagged(people[number], "mine") for number in (0, 2, 1)]
    statuses = [answer.status_code for answer in Line(cloud, patch).send(*calls, tagged(people[2], "another"))]
    assert statuses == [200, 200, 500, 200]
    assert [labels(person) for person in people] == [{"mine"}, set(), {"mine", "another"}]


def a_revoked_token_is_refused_after_waiting(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """Revoked by a neighbour in the same commit, or by another process that had the account."""
    owner = cloud.person()
    made = [
        owner.post("/v4/profile/tokens", json={"label": f"short {number}", "scopes": "*"}).json() for number in (1, 2)
    ]
    visitors = [cloud.client(token["token"]) for token in made]
    assert [visitor.post(TAGS, json={"label": f"known {n}"}).status_code for n, visitor in enumerate(visitors)] == [
        200
    ] * 2
    revoking = partial(owner.delete, f"/v4/profile/tokens/{made[0]['id']}")
    with patch.context() as lined:
        answers = Line(cloud, lined).send(tagged(owner, "first"), revoking, tagged(visitors[0], "too late"))
    assert [answer.status_code for answer in answers] == [200, 200, 401]
    database = cloud.runtime.database
    assert isinstance(database, PostgresDatabase)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database.address) as other:
        [[account]] = other.execute("SELECT account_id FROM token WHERE id = %s", (made[1]["id"],)).fetchall()
        other.execute("SELECT pg_advisory_xact_lock(%s::int, %s::int)", (ACCOUNTS, account))
        late = pool.submit(tagged(visitors[1], "too late as well"))
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: other.execute(waiting).fetchall() == [(1,)])
        other.execute("DELETE FROM token WHERE id = %s", (made[1]["id"],))
        other.commit()
        assert late.result().status_code == 401
    assert labels(owner) == {"known 0", "known 1", "first"}


def nobody_is_told_before_the_commit(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """If the common commit fails, all of them are refused, and none has happened."""
    people = [cloud.person() for _ in range(2)]
    commit, refusing = PipelineConnection.commit, threading.Event()

    def failing(self: PipelineConnection) -> None:
        if refusing.is_set() and threading.current_thread().name == "writes":
            raise psycopg.OperationalError("the disk is full")
        commit(self)

    patch.setattr(PipelineConnection, "commit", failing)
    refusing.set()
    answers = Line(cloud, patch).send(*(tagged(person, "lost") for person in people))
    refusing.clear()
    assert [answer.status_code for answer in answers] == [503, 503]
    assert [labels(person) for person in people] == [set(), set()]


PROMISES = (one_failure_harms_nobody_else, a_revoked_token_is_refused_after_waiting, nobody_is_told_before_the_commit)


@pytest.mark.parametrize("promise", PROMISES)
def test_it_is_kept(
    promise: Callable[[Cloud, pytest.MonkeyPatch], None], shared: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(shared, monkeypatch)


# ---- planted defects ------------------------------------------------------------------------------------------------


def token_not_looked_up_again(patch: pytest.MonkeyPatch) -> None:
    known: dict[bytes | None, Any] = {}
    look = Performer._actor

    def remembered(self: Performer, endpoint: Any, request: Any, db: Any) -> Any:
        header = request.headers.get(b"authorization")
        if header not in known:
            known[header] = look(self, endpoint, request, db)
        return known[header]

    patch.setattr(Performer, "_actor", remembered)


def no_fallback(patch: pytest.MonkeyPatch) -> None:
    """Return failures of a group without the fallback to single writes."""
    answers_of = GroupWrites._answers_of

    def once(self: GroupWrites, jobs: list[Job]) -> tuple[list[Job], list[Answer]]:
        try:
            return answers_of(self, jobs)
        except Exception as error:
            raise ZeroDivisionError from error

    patch.setattr(GroupWrites, "_answers_of", once)


def answered_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    perform = Performer.perform

    def perform_and_keep(self: Performer, endpoint: Any, values: Any, request: Any, *more: Any) -> Answer:
        answer = perform(self, endpoint, values, request, *more)
        early[request.id] = answer
        return answer

    early: dict[str, Answer] = {}
    tell = GroupWrites._tell

    def with_early(self: GroupWrites, jobs: list[Job], answers: list[Answer]) -> None:
        tell(self, jobs, [early.get(job.request.id, answer) for job, answer in zip(jobs, answers, strict=True)])

    patch.setattr(Performer, "perform", perform_and_keep)
    patch.setattr(GroupWrites, "_tell", with_early)


@pytest.mark.parametrize(
    ("defect", "promise"),
    [
        (no_fallback, one_failure_harms_nobody_else),
        (token_not_looked_up_again, a_revoked_token_is_refused_after_waiting),
        (answered_before_the_commit, nobody_is_told_before_the_commit),
    ],
)
def test_a_planted_defect_is_seen(
    defect: Callable[[pytest.MonkeyPatch], None],
    promise: Callable[[Cloud, pytest.MonkeyPatch], None],
    shared: Cloud,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        promise(shared, monkeypatch)


# ---- several processes ----------------------------------------------------------------------------------------------


def nobody_holds_an_account(cloud: Cloud) -> None:
    """Wait until no account is locked: a write on a locked account runs alone and would change the count of commits.

    A transaction may still be ending after its response.
    """
    database = cloud.runtime.database
    assert isinstance(database, PostgresDatabase)
    held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = %s::int::oid AND objsubid = 2"
    held += " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    with database.connect() as other:
        eventually(lambda: not other.execute(held, (ACCOUNTS,)).fetchall())


def test_what_comes_at_once_shares_a_commit(shared: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [shared.person() for _ in range(4)]
    commits: list[int] = []
    conclude = PostgresBatch._conclude
    monkeypatch.setattr(PostgresBatch, "_conclude", lambda self: commits.append(len(self._sessions)) or conclude(self))
    nobody_holds_an_account(shared)
    line = Line(shared, monkeypatch)
    answers = line.send(*(tagged(people[number % 4], f"tag {number}") for number in range(9)))
    assert [answer.status_code for answer in answers] == [200] * 9
    assert (line.sizes, commits) == ([1, 8], [1, 8])
    for number, person in enumerate(people):
        assert person.get(TAGS).json()["results"] == (3 if number == 0 else 2)
        assert person.get("/v4/account/events").json()["results"] == (3 if number == 0 else 2)


def test_accounts_that_cross_between_two_servers_hold_nobody_up(shared: Cloud, address: str, keys: str) -> None:
    """Lock several accounts per commit in two servers, in varying order."""
    second = Cloud(address, data=keys)
    try:
        tokens = [shared.account()["token"] for _ in range(4)]

        def write(writer: int) -> list[int]:
            cloud = (shared, second)[writer % 2]
            clients = [cloud.client(token) for token in tokens]
            order = clients if writer % 3 else clients[::-1]
            return [
                client.post(TAGS, json={"label": f"tag {writer} {number}"}).status_code
                for number in range(5)
                for client in order
            ]

        statuses = at_once(*(partial(write, writer) for writer in range(6)))
        assert {status for answered in statuses for status in answered} == {200}
        for token in tokens:
            assert second.client(token).get(TAGS).json()["results"] == 30
    finally:
        second.close()


DOOMED = """
import os, signal, sys
from crofter.cli import main
from crofter.db.postgres_batch import PostgresBatch
from crofter.db.pipeline import PipelineConnection
conclude = PostgresBatch._conclude
def doomed(self):
    if os.path.exists(os.environ["DOOM"]):
        def kill(connection):
            connection.settle()
            os.kill(os.getpid(), signal.SIGKILL)
        PipelineConnection.commit = kill
    conclude(self)
PostgresBatch._conclude = doomed
sys.exit(main())
"""


def test_killed_between_flush_and_commit_nothing_has_happened_and_the_account_is_free(
    postgres_server: PostgresServer, tmp_path: Any
) -> None:
    address = postgres_server.address(postgres_server.empty())
    doom, key = tmp_path / "doom", {"Idempotency-Key": "the same"}
    program = (sys.executable, "-c", DOOMED)
    process = Process("--database", address, "--log", "off", env={"DOOM": str(doom)}, program=program)
    with serving("--database", address, "--log", "off") as other, process.client() as client, other.client() as beside:
        assert client.post(TAGS, json={"label": "before"}).status_code == 200
        doom.touch()
        with pytest.raises(httpx2.TransportError):
            client.post(TAGS, json={"label": "in doubt"}, headers=key)
        process.kill()
        assert labels(beside) == {"before"}
        again = beside.post(TAGS, json={"label": "in doubt"}, headers=key)
        assert (again.status_code, "idempotent-replayed" in again.headers) == (200, False)
        assert beside.get(TAGS).json()["results"] == 2
        assert TOKEN not in again.text
