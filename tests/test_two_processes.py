"""Two API processes on a PostgreSQL database: clients of either one see every event exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import httpx2
import psycopg
import pytest

from tests.at_once import at_once
from tests.databases import PostgresServer
from tests.resources.followers import ByCursor, ByStream, eventually, stream
from tests.resources.money import CARD
from tests.resources.servers import Server
from tests.served import TOKEN, Process, serving

WRITERS, EACH = 4, 20


@pytest.fixture(scope="module")
def address(postgres_server: PostgresServer) -> str:
    return postgres_server.address(postgres_server.empty())


@pytest.fixture(scope="module")
def pair(address: str) -> Iterator[tuple[Process, Process]]:
    with (
        serving("--database", address, "--log", "off") as first,
        serving("--database", address, "--log", "off") as second,
    ):
        yield first, second


def without_rounds(address: str) -> None:
    """Disable the periodic checks, so that omissions of signals stay visible."""
    with psycopg.connect(address, autocommit=True) as postgres:
        assert postgres.execute("DELETE FROM schedule WHERE kind = 'managed.round'").rowcount == 1


def watched(client: httpx2.Client, number: int, server: Server) -> None:
    body = {"label": f"web {number}", "service_type": "url", "address": server.url, "timeout": 30}
    assert client.post("/v4/managed/services", json=body).status_code == 200


def statuses(client: httpx2.Client) -> set[str]:
    return {service["status"] for service in client.get("/v4/managed/services").json()["data"]}


def test_no_event_is_missed_or_doubled_between_two_processes(pair: tuple[Process, Process]) -> None:
    clients = [server.client() for server in pair]
    total = WRITERS * EACH
    last = max((item["id"] for item in clients[0].get("/v4/account/events").json()["data"]), default=0)
    followers = [kind(client, total, last) for client in clients for kind in (ByCursor, ByStream)]

    def write(writer: int) -> None:
        for number in range(EACH):
            answer = clients[(writer + number) % 2].post("/v4/tags", json={"label": f"tag {writer} {number}"})
            assert answer.status_code == 200, answer.text

    at_once(*(partial(write, writer) for writer in range(WRITERS)))
    everything = clients[0].get("/v4/account/events", params={"after": last, "page_size": 500}).json()
    expected = [item["id"] for item in everything["data"]]
    assert len(expected) == everything["results"] == total
    for follower in followers:
        assert follower.join() == expected


def test_a_change_in_one_process_is_heard_in_the_other(pair: tuple[Process, Process]) -> None:
    first, second = (server.client() for server in pair)
    with stream(second) as frames:
        first.post("/v4/tags", json={"label": "heard elsewhere"})
        assert next(frames).data["entity"]["label"] == "heard elsewhere"


def test_a_token_that_is_revoked_in_one_process_ends_the_stream_in_the_other(pair: tuple[Process, Process]) -> None:
    first, second = (server.client() for server in pair)
    made = first.post("/v4/profile/tokens", json={"label": "short lived"}).json()
    with pair[1].client(made["token"]) as short_lived, stream(short_lived) as frames:
        assert first.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
        assert [frame for frame in frames if frame.data["action"] not in ("token_delete", "token_create")] == []
    assert TOKEN not in made.values()
    assert second.get("/v4/tags").status_code == 200


def test_the_same_key_at_both_processes_is_done_once(pair: tuple[Process, Process]) -> None:
    clients = [server.client(patient=True) for server in pair]
    body, key = {"label": "only once"}, {"Idempotency-Key": "the same"}
    answers = at_once(*(partial(client.post, "/v4/tags", json=body, headers=key) for client in clients * 3))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_the_same_card_at_both_processes_is_added_once(pair: tuple[Process, Process]) -> None:
    """A write in two phases, whose key one process has claimed, is waited for in the other."""
    clients = [server.client(patient=True) for server in pair]
    methods, key = "/v4/account/payment-methods", {"Idempotency-Key": "the same card"}
    before = clients[0].get(methods).json()["results"]
    body = {"type": "credit_card", "is_default": False, "data": CARD}
    answers = at_once(*(partial(client.post, methods, json=body, headers=key) for client in clients * 4))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 7
    assert clients[0].get(methods).json()["results"] == before + 1


def test_what_one_process_has_asked_about_the_other_leaves_to_it(pair: tuple[Process, Process], address: str) -> None:
    """Probe slow services: the process that sent the probes collects the results, whichever process polls first."""
    owner = pair[0].client(None).post("/_sandbox/accounts", json={"managed": True}).json()["token"]
    clients = [server.client(owner) for server in pair]
    servers = [Server(delay=0.8) for _ in range(8)]
    try:
        for number, server in enumerate(servers):
            watched(clients[number % 2], number, server)
        without_rounds(address)
        eventually(lambda: "pending" not in statuses(clients[0]), seconds=60)
        assert statuses(clients[0]) == {"ok"}
        assert [server.visits for server in servers] == [1] * len(servers)
    finally:
        for server in servers:
            server.stop()


def test_what_a_process_had_asked_when_it_died_the_other_asks_again(postgres_server: PostgresServer) -> None:
    """Repeat the probes of a dead process in another one."""
    address = postgres_server.address(postgres_server.empty())
    servers = [Server(delay=600) for _ in range(4)]
    try:
        with serving("--database", address, "--log", "off") as doomed:
            owner = doomed.client(None).post("/_sandbox/accounts", json={"managed": True}).json()["token"]
            for number, server in enumerate(servers):
                watched(doomed.client(owner), number, server)
            eventually(lambda: all(server.visits for server in servers), seconds=60)
            doomed.kill()
        for server in servers:  # results arrive from here on
            server.stop()
            server.delay = 0
            server.start()
        without_rounds(address)
        with serving("--database", address, "--log", "off") as heir:
            eventually(lambda: statuses(heir.client(owner)) == {"ok"}, seconds=60)
            assert [server.visits for server in servers] == [2] * len(servers)
    finally:
        for server in servers:
            server.stop()
