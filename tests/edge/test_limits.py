"""Rate limits, on the service clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from httpx2 import Client, Response

from crofter.clock import Clock
from crofter.edge import counting
from crofter.edge import limits as limiting
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.edge.answers import request, send
from tests.observed import errors

GENERAL, WINDOW = 5, 120


@pytest.fixture(scope="module")
def _limited() -> Iterator[Cloud]:
    cloud = Cloud(rate_limits={"general": f"{GENERAL} per 2 minute", "tickets": "2 per 1 minute"})
    yield cloud
    cloud.close()


@pytest.fixture
def limited(_limited: Cloud) -> Cloud:
    """Return a cloud with low limits and a frozen clock."""
    _limited.reset()
    _limited.freeze()
    return _limited


def rate_status(answer: Response) -> tuple[int, int, int]:
    """Return status, limit and remaining requests."""
    return (
        answer.status_code,
        int(answer.headers["x-ratelimit-limit"]),
        int(answer.headers["x-ratelimit-remaining"]),
    )


def exhaust(client: Client, path: str = "/v4/tags") -> list[tuple[int, int, int]]:
    return [rate_status(client.get(path)) for _ in range(GENERAL)]


def test_each_request_is_counted_until_none_remains(limited: Cloud) -> None:
    assert exhaust(limited.admin) == [(200, GENERAL, left) for left in (4, 3, 2, 1, 0)]
    refused = limited.admin.get("/v4/tags")
    assert rate_status(refused) == (429, GENERAL, 0)
    assert errors(refused) == [(None, "Too many requests")]


def test_the_window_ends_with_the_service_clock_to_the_second(limited: Cloud) -> None:
    exhaust(limited.admin)
    refused = limited.admin.get("/v4/tags")
    assert refused.headers["retry-after"] == str(WINDOW)
    limited.advance(WINDOW - 1)
    late = limited.admin.get("/v4/tags")
    assert (late.status_code, late.headers["retry-after"]) == (429, "1")
    assert late.headers["x-ratelimit-reset"] == refused.headers["x-ratelimit-reset"]
    limited.advance(1)
    assert rate_status(limited.admin.get("/v4/tags")) == (200, GENERAL, GENERAL - 1)


def test_a_refused_request_does_nothing(limited: Cloud) -> None:
    exhaust(limited.admin)
    assert limited.admin.post("/v4/tags", json={"label": "not now"}).status_code == 429
    limited.advance(WINDOW)
    assert limited.admin.get("/v4/tags").json()["results"] == 0


def test_tokens_are_counted_apart_and_strangers_by_their_address(limited: Cloud) -> None:
    exhaust(limited.admin)
    other = limited.client(limited.token("admin"))
    assert other.get("/v4/tags").status_code == 200
    assert rate_status(limited.sandbox.get("/v4/regions")) == (200, GENERAL, GENERAL - 1)
    for _ in range(GENERAL - 1):
        assert limited.sandbox.get("/v4/tags").status_code == 401
    assert limited.sandbox.get("/v4/regions").status_code == 429


def test_the_limit_comes_before_the_token_and_after_the_route(limited: Cloud) -> None:
    made_up = limited.client("no such token")
    assert [made_up.get("/v4/tags").status_code for _ in range(GENERAL + 1)] == [401] * GENERAL + [429]
    exhaust(limited.admin)
    assert limited.admin.get("/v4/nowhere").status_code == 404
    assert limited.admin.patch("/v4/tags").status_code == 405
    assert limited.admin.options("/v4/tags").status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/v4/tags", 401), ("/v4/regions", 200)])
def test_a_new_made_up_token_each_time_does_not_help(limited: Cloud, path: str, status: int) -> None:
    exhaust(limited.admin)
    statuses = [limited.client(f"made up {number}").get(path).status_code for number in range(GENERAL + 2)]
    assert statuses == [status] * GENERAL + [429, 429]
    assert limited.sandbox.get("/v4/regions").status_code == 429
    limited.advance(WINDOW)
    assert limited.client("made up").get(path).status_code == status


def test_nor_does_a_body_that_is_never_looked_at(limited: Cloud) -> None:
    large = [request("POST", "/v4/tags", token=f"made up {number}", length=2**30) for number in range(GENERAL + 1)]
    assert [send(limited.url, body).status for body in large] == [413] * GENERAL + [429]


def test_good_tokens_cost_their_address_nothing_and_do_not_suffer_from_it(limited: Cloud) -> None:
    for _ in range(2 * GENERAL):
        assert limited.client(limited.token("admin")).get("/v4/tags").status_code == 200
    assert limited.admin.get("/v4/tags").status_code == 200
    for _ in range(GENERAL):
        assert limited.sandbox.get("/v4/tags").status_code == 401
    assert rate_status(limited.admin.get("/v4/tags")) == (200, GENERAL, GENERAL - 2)


def test_a_token_that_is_good_no_more_counts_against_its_address(limited: Cloud) -> None:
    made = limited.admin.post("/v4/profile/tokens", json={"label": "short"}).json()
    gone = limited.client(made["token"])
    assert gone.get("/v4/tags").status_code == 200
    assert limited.admin.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
    assert [gone.get("/v4/tags").status_code for _ in range(3)] == [401] * 3
    assert rate_status(limited.sandbox.get("/v4/regions")) == (200, GENERAL, GENERAL - 3)


def test_nobody_uses_up_the_requests_of_an_address_by_naming_it(limited: Cloud) -> None:
    limits = limited.application.app.parts.limits
    for number in range(GENERAL):
        limits.admit("general", "192.0.2.1", f"198.51.100.{number}")
    rate_status, _ = limits.admit("general", None, "192.0.2.1")
    assert rate_status.remaining == GENERAL - 1


def test_good_tokens_cost_their_address_nothing_even_when_they_first_come_together(limited: Cloud) -> None:
    limits = limited.application.app.parts.limits
    charged = [limits.admit("general", "token", "192.0.2.1")[1] for _ in range(3)]
    for was_charged in charged:
        limits.record_token("token", "192.0.2.1", charged=was_charged, good=True)
    assert limits.admit("general", "token", "192.0.2.1")[1] is False
    assert limits.hit("general", "192.0.2.1").remaining == GENERAL - 1


def test_good_tokens_do_not_fill_the_memory(limited: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiting, "_MANY", 10)
    limits = limited.application.app.parts.limits
    for number in range(100):
        limits.record_token(f"token {number}" + "x" * 60_000, "192.0.2.1", charged=False, good=True)
    assert 0 < len(limits._good) <= 10
    assert max(map(len, limits._good)) <= 100


def test_some_endpoints_have_a_narrower_limit_of_their_own(limited: Cloud) -> None:
    ticket = {"summary": "It does not work", "description": "At all."}
    opened = [limited.admin.post("/v4/support/tickets", json=ticket).status_code for _ in range(3)]
    assert opened == [200, 200, 429]
    assert limited.admin.get("/v4/tags").status_code == 200
    limited.advance(60)
    assert limited.admin.post("/v4/support/tickets", json=ticket).status_code in (200, 429)


def test_a_costly_request_counts_as_several(limited: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "view_account_cost")
    assert cost.weight == 10
    monkeypatch.setattr(cost, "weight", 2)
    costly = [rate_status(limited.admin.get("/v4/account/cost")) for _ in range(2)]
    assert costly == [(200, GENERAL, 3), (200, GENERAL, 1)]
    refused = limited.admin.get("/v4/account/cost")  # its weight exceeds the rest
    assert rate_status(refused) == (429, GENERAL, 0)
    assert refused.headers["retry-after"] == str(WINDOW)
    assert rate_status(limited.admin.get("/v4/tags")) == (429, GENERAL, 0)
    limited.advance(WINDOW)
    assert rate_status(limited.admin.get("/v4/account/cost")) == (200, GENERAL, 3)


def test_a_narrower_limit_counts_requests_whatever_they_cost(limited: Cloud) -> None:
    limits = limited.application.app.parts.limits
    assert limits.hit("tickets", "somebody", 3).remaining == 1
    assert limits.hit("general", "somebody").remaining == GENERAL - 4


def test_a_costly_request_costs_the_address_of_a_new_token_nothing(limited: Cloud) -> None:
    limits = limited.application.app.parts.limits
    _, charged = limits.admit("general", "token", "192.0.2.1", 3)
    limits.record_token("token", "192.0.2.1", charged=charged, good=True)
    assert limits.hit("general", "192.0.2.1").remaining == GENERAL - 1
    assert limits.hit("general", "token token").remaining == GENERAL - 4


def test_without_a_limit_the_headers_are_there_and_nothing_is_counted(cloud: Cloud) -> None:
    for _ in range(3):
        answer = cloud.admin.get("/v4/tags")
        assert rate_status(answer) == (200, 1600, 1600)
        assert 0 < int(answer.headers["retry-after"]) <= 120


def test_counters_of_made_up_tokens_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MANY", 100)
    storage = counting.ClockStorage(Clock())
    for number in range(1000):
        storage.incr(f"token {number}", 60)
    assert storage.get("token 999") == 1
    assert len(storage._counters) <= 100
