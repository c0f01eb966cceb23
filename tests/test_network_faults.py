"""Network with delays, fragmentation, resets, drops and outages, before the server and before PostgreSQL.

Promises: acknowledged work exists; a request repeated with its ``Idempotency-Key`` is done once and answered with the
same bytes; and service resumes without a restart.
"""

from __future__ import annotations

import enum
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.databases import PostgresServer
from tests.network import Connection, Fault, Line
from tests.served import CROFTER, Process

CALLERS = 3
FAULTS = (Fault.LATE, Fault.SLICED, Fault.RESET, Fault.CUT, Fault.DOWN, Fault.RESET)
PAGE = 100
TWICE = "'name-00000', 'name-00000'"
PATIENCE = 200
"""Times that a request is repeated before its caller says that the server does not go on."""
WAIT_SECONDS = 5.0
"""Seconds that a caller waits for a response: longer than the server's own limit without a database."""
ENVIRONMENT = {"CROFTER_SECRET_KEY": "5" * 64, "CROFTER_LOG": "off"}
FORGETFUL = """
import sys
from crofter.cli import main
from crofter.edge import idempotency
idempotency.earlier = idempotency.given = lambda ctx, key: None
sys.exit(main())
"""
"""A server that does not know the keys of requests again."""
RASH = """
import sys
from contextlib import suppress
import psycopg
from crofter.cli import main
from crofter.db.pipeline import PipelineConnection
commit = PipelineConnection.commit
def committed(connection):
    with suppress(psycopg.Error):
        commit(connection)
PipelineConnection.commit = committed
sys.exit(main())
"""
"""A server that takes a commit for done of which it has heard nothing."""


class Made(NamedTuple):
    """Something that callers make, of which each name is there once."""

    path: str
    name: str
    """The field that is named after the request."""
    action: str
    """Action of the event."""
    body: dict[str, Any]


MADE = (
    Made("/v4/support/tickets", "summary", "ticket_create", {"description": "Please help."}),
    Made("/v4/tags", "label", "tag_create", {}),
    Made("/v4/compute/instances", "label", "compute_create", {"type": "g6-nanode-1", "region": "us-east"}),
)


class Cloud(NamedTuple):
    """A server behind or in front of a faulty line."""

    process: Process
    line: Line
    url: str
    """Address for callers."""

    def direct(self, token: str) -> httpx2.Client:
        """Past the line, if it is between the callers and the server."""
        return self.process.client(token, patient=True)


class Caller:
    """Creates objects, repeats each request until it succeeds, and stores the responses."""

    def __init__(self, cloud: Cloud, token: str) -> None:
        self._cloud, self.token = cloud, token
        self.answered: dict[str, tuple[Made, bytes]] = {}
        """Created objects and responses by key."""
        self.wrong: list[str] = []
        self.repeated = 0
        self._client = self._connected()

    def _connected(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self._cloud.url, headers=headers, timeout=WAIT_SECONDS)

    def run(self, over: threading.Event) -> None:
        while not over.is_set() and not self.wrong:
            number = len(self.answered)
            self.make(MADE[number % len(MADE)], f"name-{number:05}")
            if number % 4 == 0:
                self.look(MADE[number % len(MADE)])
        self._client.close()

    def make(self, made: Made, key: str) -> None:
        body = {**made.body, made.name: key}
        answer = self._until_answered(lambda: self._client.post(made.path, json=body, headers={"Idempotency-Key": key}))
        if answer is not None:
            self.answered[key] = made, answer.content

    def look(self, made: Made) -> None:
        answer = self._until_answered(lambda: self._client.get(made.path, params={"page_size": PAGE}))
        if answer is not None and answer.json()["pages"] == 1:
            names = {row[made.name] for row in answer.json()["data"]}
            acknowledged = {key for key, (kind, _) in self.answered.items() if kind is made}
            if acknowledged - names:
                self.wrong.append(f"{made.path} lacks {sorted(acknowledged - names)}")

    def _until_answered(self, ask: Callable[[], httpx2.Response]) -> httpx2.Response | None:
        for _ in range(PATIENCE):
            try:
                answer = ask()
            except httpx2.TransportError:
                self._client.close()
                self._client = self._connected()
                time.sleep(0.02)
            else:
                if answer.status_code == 200:
                    return answer
                if answer.status_code not in (409, 503) or "retry-after" not in answer.headers:
                    self.wrong.append(f"{answer.request.method} {answer.url.path}: {answer.status_code} {answer.text}")
                    return None
                time.sleep(0.2)
            self.repeated += 1
        self.wrong.append("never answered")
        return None


def rows(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    while True:
        page = client.get(path, params={"page_size": PAGE, "page": len(listed) // PAGE + 1}).json()
        listed += page["data"]
        if len(listed) >= page["results"]:
            return listed


def nothing_is_lost_or_doubled(cloud: Cloud, caller: Caller) -> None:
    assert caller.wrong == []
    assert caller.answered
    with cloud.direct(caller.token) as client:
        actions = Counter(event["action"] for event in rows(client, "/v4/account/events"))
        for made in MADE:
            acknowledged = sorted(key for key, (kind, _) in caller.answered.items() if kind is made)
            assert sorted(row[made.name] for row in rows(client, made.path)) == acknowledged
            assert actions[made.action] == len(acknowledged)
        for key, (made, content) in caller.answered.items():
            body = {**made.body, made.name: key}
            again = client.post(made.path, json=body, headers={"Idempotency-Key": key})
            assert (again.status_code, again.content) == (200, content)
            assert again.headers["idempotent-replayed"] == "true"


def all_work_ends(cloud: Cloud, callers: Sequence[Caller]) -> None:
    with cloud.process.client(patient=True) as client:
        assert client.post("/_sandbox/settle", json={}).status_code == 200
        assert client.get("/health/ready").status_code == 200
    for caller in callers:
        with cloud.direct(caller.token) as client:
            assert {row["status"] for row in rows(client, "/v4/compute/instances")} <= {"offline", "running"}
            events = [event for event in rows(client, "/v4/account/events") if event["action"] == "compute_create"]
            assert {event["status"] for event in events} <= {"finished", "notification"}


def people(cloud: Cloud, amount: int = CALLERS) -> list[Caller]:
    with cloud.process.client(patient=True) as client:
        made = [client.post("/_sandbox/accounts", json={}) for _ in range(amount)]
    return [Caller(cloud, answer.json()["token"]) for answer in made]


def storm(cloud: Cloud, faults: Sequence[Fault], seconds: float) -> None:
    """Callers at work while the line fails in one way after another; then all is looked at."""
    callers, over = people(cloud), threading.Event()
    threads = [threading.Thread(target=caller.run, args=(over,)) for caller in callers]
    for thread in threads:
        thread.start()
    for fault in faults:
        cloud.line.fail(fault)
        time.sleep(seconds)
    cloud.line.fail(Fault.NONE)
    over.set()
    for thread in threads:
        thread.join()
    for caller in callers:
        nothing_is_lost_or_doubled(cloud, caller)
    all_work_ends(cloud, callers)
    assert cloud.line.broken, "no connection broke"
    assert sum(caller.repeated for caller in callers), "nobody noticed"


# ---- before the server, and behind it -------------------------------------------------------------------------------


@contextmanager
def before(program: Sequence[str], *flags: str) -> Iterator[Cloud]:
    """The line is between callers and a server."""
    process = Process(*flags, env=ENVIRONMENT, program=program)
    address = httpx2.URL(process.url)
    line = Line((address.host, address.port or 80))
    try:
        yield Cloud(process, line, f"http://127.0.0.1:{line.port}")
    finally:
        line.close()
        process.close()
    assert process.ended() == 0


@contextmanager
def behind(program: Sequence[str], address: str) -> Iterator[Cloud]:
    """The line is between a server and PostgreSQL."""
    parts = conninfo_to_dict(address)
    line = Line(f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}")
    through = f"postgresql://{parts['user']}@127.0.0.1:{line.port}/{parts['dbname']}"
    process = Process("--database", through, env=ENVIRONMENT, program=program)
    try:
        yield Cloud(process, line, process.url)
    finally:
        process.close()
        line.close()
    assert process.ended() == 0


class Place(enum.Enum):
    """Where the line is that fails."""

    SQLITE = "between callers and a server on SQLite"
    POSTGRESQL = "between callers and a server on PostgreSQL"
    DATABASE = "between a server and PostgreSQL"


Opening = Callable[..., AbstractContextManager[Cloud]]


@pytest.fixture
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    def start(place: Place, *program: str) -> AbstractContextManager[Cloud]:
        chosen = program or (CROFTER,)
        if place is Place.SQLITE:
            return before(chosen, "--data", str(tmp_path))
        server: PostgresServer = request.getfixturevalue("postgres_server")
        address = server.address(server.empty())
        return behind(chosen, address) if place is Place.DATABASE else before(chosen, "--database", address)

    return start


# ---- single words that are lost --------------------------------------------------------------------------------------


class LostAnswer:
    """Once: a connection breaks after a request was made, instead of forwarding the answer."""

    def __init__(self, asked: bytes, answer: bytes) -> None:
        self._asked, self._answer = asked, answer
        self._asking: Connection | None = None
        self.happened = False

    def __call__(self, connection: Connection, chunk: bytes, asked: bool) -> bool:
        if self.happened:
            return False
        if asked and self._asked in chunk:
            self._asking = connection
        self.happened = not asked and connection is self._asking and self._answer in chunk
        return self.happened


class LostCommit:
    """Once: a connection breaks instead of forwarding the commit of what was written."""

    def __init__(self, written: bytes) -> None:
        self._written = written
        self._writing: Connection | None = None
        self._commits: dict[Connection, bytes] = {}
        """Name of the server's prepared COMMIT."""
        self.happened = False

    def __call__(self, connection: Connection, chunk: bytes, asked: bool) -> bool:
        if self.happened or not asked:
            return False
        if prepared := re.search(rb"P....(\w+)\0COMMIT\0", chunk, re.DOTALL):
            self._commits[connection] = b"\0%s\0" % prepared[1]
        if self._written in chunk:
            self._writing = connection
        commits = b"COMMIT" in chunk or self._commits.get(connection, b"COMMIT") in chunk
        self.happened = connection is self._writing and commits
        return self.happened


DESCRIBED = str(MADE[0].body["description"]).encode()


def answer_is_lost(cloud: Cloud, place: Place) -> None:
    """Create a ticket, lose the response, and repeat the request."""
    lost = LostAnswer(DESCRIBED, b"COMMIT" if place is Place.DATABASE else b"HTTP/1.1 200")
    (caller,) = people(cloud, 1)
    cloud.line.interrupt(lost)
    caller.make(MADE[0], "name-00000")
    assert lost.happened
    assert caller.repeated
    nothing_is_lost_or_doubled(cloud, caller)


def commit_is_lost(cloud: Cloud) -> None:
    """The server's last word on a ticket does not reach its database."""
    lost = LostCommit(DESCRIBED)
    cloud.line.interrupt(lost)
    cloud.line.fail(Fault.DOWN)  # connections are made anew, so that it hears what they call a commit
    cloud.line.fail(Fault.NONE)
    (caller,) = people(cloud, 1)
    caller.make(MADE[0], "name-00000")
    assert lost.happened
    nothing_is_lost_or_doubled(cloud, caller)


# ---- tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", [Place.SQLITE, pytest.param(Place.POSTGRESQL, marks=pytest.mark.soak), Place.DATABASE]
)
def test_nothing_is_lost_or_doubled_on_a_line_that_fails(opening: Opening, place: Place) -> None:
    with opening(place) as cloud:
        answer_is_lost(cloud, place)
        if place is Place.DATABASE:
            commit_is_lost(cloud)
        storm(cloud, FAULTS, 0.7)


@pytest.mark.soak
@pytest.mark.parametrize("place", Place)
def test_nothing_is_lost_or_doubled_on_a_line_that_fails_for_minutes(opening: Opening, place: Place) -> None:
    with opening(place) as cloud:
        storm(cloud, FAULTS * 5, 4.0)


def test_a_server_that_forgets_keys_is_found_out(opening: Opening) -> None:
    with opening(Place.SQLITE, sys.executable, "-c", FORGETFUL) as cloud, pytest.raises(AssertionError, match=TWICE):
        answer_is_lost(cloud, Place.SQLITE)


def test_a_server_that_takes_commits_for_done_is_found_out(opening: Opening) -> None:
    with (
        opening(Place.DATABASE, sys.executable, "-c", RASH) as cloud,
        pytest.raises(AssertionError, match="name-00000"),
    ):
        commit_is_lost(cloud)
