"""Rate limits with several processes on one PostgreSQL: they hold for all of them together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import httpx2
import psycopg
import pytest

from crofter.edge import shared_counting
from crofter.errors import Unavailable
from tests.at_once import at_once
from tests.cloud import ADMIN, Cloud
from tests.databases import PostgresServer

LIMIT, MANY = 20, 640
PORTION = MANY // shared_counting.PORTIONS
RATES = {"general": f"{LIMIT} per 2 minute", "tickets": "2 per 1 minute"}


def two(address: str, **rates: str) -> tuple[Cloud, Cloud]:
    first = Cloud(address, secret_key="0" * 64, rate_limits=RATES | rates)
    return first, Cloud(address, secret_key="0" * 64, rate_limits=RATES | rates)


@pytest.fixture(scope="module")
def address(postgres_server: PostgresServer) -> str:
    return postgres_server.address(postgres_server.create())


@pytest.fixture(scope="module")
def _pair(address: str) -> Iterator[tuple[Cloud, Cloud]]:
    pair = two(address)
    yield pair
    for cloud in pair:
        cloud.close()


@pytest.fixture
def pair(_pair: tuple[Cloud, Cloud]) -> tuple[Cloud, Cloud]:
    _pair[0].reset()
    _pair[1].application.app.parts.limits.clear()
    return _pair


def remaining(answer: httpx2.Response) -> int:
    return int(answer.headers["x-ratelimit-remaining"])


def test_one_after_the_other_at_two_processes_a_limit_admits_no_more_than_it_says(pair: tuple[Cloud, Cloud]) -> None:
    clients = itertools.cycle(cloud.admin for cloud in pair)
    answers = [next(clients).get("/v4/tags") for _ in range(LIMIT + 4)]
    assert [answer.status_code for answer in answers] == [200] * LIMIT + [429] * 4
    assert [remaining(answer) for answer in answers] == [*range(LIMIT - 1, -1, -1), 0, 0, 0, 0]
    assert {answer.headers["x-ratelimit-limit"] for answer in answers} == {str(LIMIT)}
    assert len({answer.headers["x-ratelimit-reset"] for answer in answers}) == 1
    waits = [int(answer.headers["retry-after"]) for answer in answers]
    assert 0 < min(waits) <= max(waits) <= 120


def test_all_at_once_at_two_processes_too(pair: tuple[Cloud, Cloud]) -> None:
    assert [cloud.admin.get("/v4/tags").status_code for cloud in pair] == [200, 200]
    calls = [partial(cloud.client(ADMIN).get, "/v4/tags") for cloud in pair for _ in range(LIMIT)]
    statuses = [answer.status_code for answer in at_once(*calls)]
    assert (statuses.count(200), statuses.count(429)) == (LIMIT - 2, LIMIT + 2)


def test_callers_without_a_token_are_counted_together_by_their_address(pair: tuple[Cloud, Cloud]) -> None:
    clients = [cloud.client(None) for cloud in pair]
    statuses = [clients[number % 2].get("/v4/regions").status_code for number in range(LIMIT + 2)]
    assert statuses == [200] * LIMIT + [429] * 2
    assert [client.get("/login").status_code for client in clients] == [429, 429]
    assert [cloud.admin.get("/v4/tags").status_code for cloud in pair] == [429, 429]  # not known yet to be good


def test_a_limit_of_two_is_two_at_two_processes(pair: tuple[Cloud, Cloud]) -> None:
    body = {"summary": "a summary", "description": "a description"}
    answers = [pair[number % 2].admin.post("/v4/support/tickets", json=body) for number in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]


def test_a_new_window_begins_for_both_when_the_old_one_has_ended(pair: tuple[Cloud, Cloud]) -> None:
    pair[0].freeze()
    clients = [cloud.admin for cloud in pair]
    assert {clients[number % 2].get("/v4/tags").status_code for number in range(LIMIT)} == {200}
    assert [client.get("/v4/tags").status_code for client in clients] == [429, 429]
    pair[0].advance(121)
    assert clients[0].get("/v4/tags").status_code == 200


def test_no_token_is_kept_where_the_windows_are(pair: tuple[Cloud, Cloud], address: str) -> None:
    pair[0].admin.get("/v4/tags")
    with psycopg.connect(address) as postgres:
        rows = postgres.execute("SELECT caller FROM rate_window").fetchall()
    assert rows
    assert all(len(caller) == 16 and ADMIN.encode()[:8] not in bytes(caller) for (caller,) in rows)


def test_a_process_counts_by_itself_while_the_database_does_not_answer(
    pair: tuple[Cloud, Cloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = pair[0].application.app.parts.limits
    assert limits._shared is not None
    asked: list[str] = []

    def away(key: str, *_more: int) -> None:
        asked.append(key)
        raise Unavailable

    monkeypatch.setattr(limits._shared._windows, "take", away)
    monkeypatch.setattr(shared_counting, "AWAY", 600.0)
    try:
        statuses = [pair[0].admin.get("/v4/tags").status_code for _ in range(LIMIT + 2)]
    finally:
        limits._shared._away_until = 0.0
    assert statuses == [200] * LIMIT + [429] * 2
    assert len(asked) == 1


def test_a_large_limit_is_taken_in_portions_and_never_exceeded(postgres_address: str) -> None:
    """Allow at most the other process's last portion to stay unused."""
    first, other = two(postgres_address, general=f"{MANY} per 2 minute")
    taken: list[int] = []
    try:
        for cloud in (first, other):
            shared = cloud.application.app.parts.limits._shared
            assert shared is not None
            take = shared._windows.take
            shared._windows.take = lambda key, amount, *more, take=take: (  # type: ignore[method-assign]
                taken.append(amount) or take(key, amount, *more)
            )
        assert other.admin.get("/v4/tags").status_code == 200
        admitted = 1 + sum(first.admin.get("/v4/tags").status_code == 200 for _ in range(MANY))
    finally:
        first.close()
        other.close()
    assert MANY - PORTION < admitted <= MANY
    assert len(taken) <= 2 * (shared_counting.PORTIONS + 2)
