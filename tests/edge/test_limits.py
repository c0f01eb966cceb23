"""Rate limits, on the house clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from httpx2 import Client, Response

from crofter.clock import Clock
from crofter.edge import counting
from tests.cloud import Cloud
from tests.told import errors

GENERAL, WINDOW = 5, 120


@pytest.fixture(scope="module")
def _limited() -> Iterator[Cloud]:
    cloud = Cloud(rate_limits={"general": f"{GENERAL} per 2 minute", "tickets": "2 per 1 minute"})
    yield cloud
    cloud.close()


@pytest.fixture
def limited(_limited: Cloud) -> Cloud:
    """A cloud with low limits, and a clock that stands."""
    _limited.reset()
    _limited.freeze()
    return _limited


def standing(answer: Response) -> tuple[int, int, int]:
    """Status, limit and what remains of it."""
    return (
        answer.status_code,
        int(answer.headers["x-ratelimit-limit"]),
        int(answer.headers["x-ratelimit-remaining"]),
    )


def exhaust(client: Client, path: str = "/v4/tags") -> list[tuple[int, int, int]]:
    return [standing(client.get(path)) for _ in range(GENERAL)]


def test_each_request_is_counted_until_none_remains(limited: Cloud) -> None:
    assert exhaust(limited.admin) == [(200, GENERAL, left) for left in (4, 3, 2, 1, 0)]
    refused = limited.admin.get("/v4/tags")
    assert standing(refused) == (429, GENERAL, 0)
    assert errors(refused) == [(None, "Too many requests")]


def test_the_window_ends_with_the_house_clock_to_the_second(limited: Cloud) -> None:
    exhaust(limited.admin)
    refused = limited.admin.get("/v4/tags")
    assert refused.headers["retry-after"] == str(WINDOW)
    limited.advance(WINDOW - 1)
    late = limited.admin.get("/v4/tags")
    assert (late.status_code, late.headers["retry-after"]) == (429, "1")
    assert late.headers["x-ratelimit-reset"] == refused.headers["x-ratelimit-reset"]
    limited.advance(1)
    assert standing(limited.admin.get("/v4/tags")) == (200, GENERAL, GENERAL - 1)


def test_a_refused_request_does_nothing(limited: Cloud) -> None:
    exhaust(limited.admin)
    assert limited.admin.post("/v4/tags", json={"label": "not now"}).status_code == 429
    limited.advance(WINDOW)
    assert limited.admin.get("/v4/tags").json()["results"] == 0


def test_tokens_are_counted_apart_and_strangers_by_their_address(limited: Cloud) -> None:
    exhaust(limited.admin)
    other = limited.client(limited.token("admin"))
    assert other.get("/v4/tags").status_code == 200
    assert standing(limited.door.get("/v4/regions")) == (200, GENERAL, GENERAL - 1)
    for _ in range(GENERAL - 1):
        assert limited.door.get("/v4/tags").status_code == 401
    assert limited.door.get("/v4/regions").status_code == 429


def test_the_limit_comes_before_the_token_and_after_the_route(limited: Cloud) -> None:
    made_up = limited.client("no such token")
    assert [made_up.get("/v4/tags").status_code for _ in range(GENERAL + 1)] == [401] * GENERAL + [429]
    exhaust(limited.admin)
    assert limited.admin.get("/v4/nowhere").status_code == 404
    assert limited.admin.patch("/v4/tags").status_code == 405
    assert limited.admin.options("/v4/tags").status_code == 200


def test_some_endpoints_have_a_narrower_limit_of_their_own(limited: Cloud) -> None:
    ticket = {"summary": "It does not work", "description": "At all."}
    opened = [limited.admin.post("/v4/support/tickets", json=ticket).status_code for _ in range(3)]
    assert opened == [200, 200, 429]
    assert limited.admin.get("/v4/tags").status_code == 200
    limited.advance(60)
    assert limited.admin.post("/v4/support/tickets", json=ticket).status_code in (200, 429)


def test_without_a_limit_the_headers_are_there_and_nothing_is_counted(cloud: Cloud) -> None:
    for _ in range(3):
        answer = cloud.admin.get("/v4/tags")
        assert standing(answer) == (200, 1600, 1600)
        assert 0 < int(answer.headers["retry-after"]) <= 120


def test_counters_of_made_up_tokens_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MANY", 100)
    storage = counting.HouseStorage(Clock())
    for number in range(1000):
        storage.incr(f"token {number}", 60)
    assert storage.get("token 999") == 1
    assert len(storage._counters) <= 100
