"""Two API processes on one PostgreSQL database: whoever follows either of them misses and doubles nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.databases import PostgresServer
from tests.resources.followers import ByCursor, ByStream, eventually, stream
from tests.resources.servers import Server
from tests.served import TOKEN, Process, serving
from tests.together import at_once

WRITERS, EACH = 4, 20


@pytest.fixture(scope="module")
def pair(postgres_server: PostgresServer) -> Iterator[tuple[Process, Process]]:
    address = postgres_server.address(postgres_server.empty())
    with serving("--database", address, "--log", "off") as one, serving("--database", address, "--log", "off") as two:
        yield one, two


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
    one, two = (server.client() for server in pair)
    with stream(two) as found:
        one.post("/v4/tags", json={"label": "heard elsewhere"})
        assert next(found).data["entity"]["label"] == "heard elsewhere"


def test_a_token_that_is_revoked_in_one_process_ends_the_stream_in_the_other(pair: tuple[Process, Process]) -> None:
    one, two = (server.client() for server in pair)
    made = one.post("/v4/profile/tokens", json={"label": "short lived"}).json()
    with pair[1].client(made["token"]) as short_lived, stream(short_lived) as found:
        assert one.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
        assert [frame for frame in found if frame.data["action"] not in ("token_delete", "token_create")] == []
    assert TOKEN not in made.values()
    assert two.get("/v4/tags").status_code == 200


def test_the_same_key_at_both_processes_is_done_once(pair: tuple[Process, Process]) -> None:
    clients = [server.client() for server in pair]

    body, key = {"label": "only once"}, {"Idempotency-Key": "the same"}
    answers = at_once(*(partial(client.post, "/v4/tags", json=body, headers=key) for client in clients * 3))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_what_one_process_has_asked_about_the_other_leaves_to_it(pair: tuple[Process, Process]) -> None:
    """Services that take their time to answer: whoever has asked hears it, whichever process comes to look first."""
    owner = pair[0].client(None).post("/_sandbox/accounts", json={"managed": True}).json()["token"]
    clients = [server.client(owner) for server in pair]
    servers = [Server(delay=0.8) for _ in range(8)]
    try:
        for number, server in enumerate(servers):
            body = {"label": f"web {number}", "service_type": "url", "address": server.url, "timeout": 30}
            assert clients[number % 2].post("/v4/managed/services", json=body).status_code == 200

        def statuses() -> set[str]:
            return {one["status"] for one in clients[0].get("/v4/managed/services").json()["data"]}

        eventually(lambda: "pending" not in statuses(), seconds=60)
        assert statuses() == {"ok"}
        assert [server.visits for server in servers] == [1] * len(servers)
    finally:
        for server in servers:
            server.stop()
