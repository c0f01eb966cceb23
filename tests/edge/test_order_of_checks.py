"""The order of checks: route, method, rate limit, token, scope, object, grant, body, state.

Each request here is wrong in two ways at once. The answer must be about the earlier one.
"""

from __future__ import annotations

import pytest
from httpx2 import Client, Response

from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.observed import errors

BAD_BODY = {"content": b"{", "headers": {"Content-Type": "application/json"}}


def refusal(answer: Response) -> tuple[int, str]:
    return answer.status_code, errors(answer)[0][1]


@pytest.mark.parametrize("header", ["", "Bearer", "Basic abc", "Bearer x", "bearer  y", "Token z"])
def test_what_is_no_known_token_is_refused_with_a_challenge(cloud: Cloud, header: str) -> None:
    answer = cloud.sandbox.get("/v4/tags", headers={"Authorization": header} if header else {})
    assert refusal(answer) == (401, "Invalid Token")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_word_bearer_is_read_in_any_case(cloud: Cloud) -> None:
    assert cloud.sandbox.get("/v4/tags", headers={"Authorization": f"BEARER {cloud.token('admin')}"}).status_code == 200


def test_a_token_ends_with_its_time(cloud: Cloud) -> None:
    cloud.freeze()
    client = cloud.client(cloud.token("admin", expires_in=60))
    cloud.advance(59)
    assert client.get("/v4/tags").status_code == 200
    cloud.advance(1)
    assert refusal(client.get("/v4/tags")) == (401, "Invalid Token")


def test_a_missing_scope_is_forbidden_and_named(cloud: Cloud) -> None:
    reader = cloud.client(cloud.token("admin", "account:read_only"))
    answer = reader.post("/v4/tags", json={"label": "mine"})
    assert refusal(answer) == (403, "Your OAuth token is not authorized to use this endpoint.")
    assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="account:read_write"'
    assert answer.headers["x-oauth-scopes"] == "account:read_only"
    assert reader.get("/v4/account/events").headers["x-oauth-scopes"] == "account:read_only"


def test_writing_covers_reading(cloud: Cloud) -> None:
    writer = cloud.client(cloud.token("admin", "account:read_write"))
    assert writer.get("/v4/tags").status_code == 200
    assert writer.get("/v4/account/events").status_code == 403


def test_the_route_comes_before_the_token(cloud: Cloud) -> None:
    assert refusal(cloud.sandbox.get("/v4/nowhere")) == (404, "Not found")


def test_the_method_comes_before_the_token(cloud: Cloud) -> None:
    assert refusal(cloud.sandbox.patch("/v4/tags")) == (405, "Method Not Allowed")


def test_an_id_that_cannot_be_one_is_no_route(cloud: Cloud) -> None:
    assert refusal(cloud.sandbox.get("/v4/account/events/abc")) == (404, "Not found")


def test_the_token_comes_before_object_and_body(cloud: Cloud) -> None:
    assert cloud.sandbox.delete("/v4/tags/none").status_code == 401
    assert cloud.sandbox.post("/v4/tags", **BAD_BODY).status_code == 401  # type: ignore[arg-type]


def test_the_scope_comes_before_object_and_body(cloud: Cloud) -> None:
    reader = cloud.client(cloud.token("admin", "account:read_only"))
    assert reader.delete("/v4/tags/none").status_code == 403
    assert reader.post("/v4/tags", **BAD_BODY).status_code == 403  # type: ignore[arg-type]


def test_the_object_comes_before_the_grant(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob-restricted", of="alice")
    assert refusal(bob.delete("/v4/tags/none")) == (404, "Not found")
    alice.post("/v4/tags", json={"label": "mine"})
    assert refusal(bob.delete("/v4/tags/mine")) == (403, "Unauthorized")


def test_the_object_comes_before_the_body(alice: Client) -> None:
    assert refusal(alice.post("/v4/account/events/99/read", **BAD_BODY)) == (404, "Not found")  # type: ignore[arg-type]
    assert refusal(alice.put("/v4/compute/instances/99", **BAD_BODY)) == (404, "Not found")  # type: ignore[arg-type]


def test_the_grant_comes_before_the_body(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob-restricted", of="alice")
    assert refusal(bob.post("/v4/tags", **BAD_BODY)) == (403, "Unauthorized")  # type: ignore[arg-type]


def test_the_body_comes_before_the_state(alice: Client) -> None:
    made = alice.post("/v4/compute/instances", json={"type": "g6-nanode-1", "region": "us-east"}).json()["id"]
    same = {"type": "g6-nanode-1", "allow_auto_disk_resize": "x"}
    answer = alice.post(f"/v4/compute/instances/{made}/resize", json=same)
    assert errors(answer) == [("allow_auto_disk_resize", "Must be of type Boolean")]


def test_a_public_endpoint_needs_no_token_and_minds_no_bad_one(cloud: Cloud) -> None:
    for headers in ({}, {"Authorization": "Bearer bad"}):
        assert cloud.sandbox.get("/v4/regions", headers=headers).status_code == 200


def test_somebody_elses_object_cannot_be_told_from_none(cloud: Cloud, alice: Client, mallory: Client) -> None:
    alice.post("/v4/tags", json={"label": "mine"})
    event = alice.get("/v4/account/events").json()["data"][0]["id"]
    for there, absent in (("/v4/tags/mine", "/v4/tags/none"), (f"/v4/account/events/{event}", "/v4/account/events/9")):
        foreign, other = mallory.get(there), mallory.get(absent)
        assert (foreign.status_code, foreign.content) == (other.status_code, other.content)
        assert sorted(foreign.headers) == sorted(other.headers)
