"""Access to managed service: unrestricted users of managed accounts, on every endpoint."""

from __future__ import annotations

import pytest
from httpx2 import Client

from crofter.registry import ENDPOINTS
from crofter.resources.managed import membership
from tests.cloud import Cloud

MANAGED = [(endpoint.method, endpoint.path) for endpoint in ENDPOINTS if endpoint.path.startswith("managed/")]
NO = {"errors": [{"reason": "Unauthorized"}]}
NOT_MANAGED = {"errors": [{"reason": "Unauthorized"}, {"reason": membership.REMEDY}]}


def calls() -> list[tuple[str, str]]:
    filled = []
    for method, path in MANAGED:
        parts = ["1" if part.startswith("{") else part for part in path.split("/")]
        filled.append((method, "/v4/" + "/".join(parts)))
    return filled


def test_all_endpoints_are_here() -> None:
    assert len(MANAGED) >= 25


@pytest.mark.parametrize(("method", "path"), calls())
@pytest.mark.both
def test_an_account_without_managed_service_is_refused_whatever_it_sends(alice: Client, method: str, path: str) -> None:
    answer = alice.request(method, path, json=None if method == "GET" else {"label": 5})
    assert (answer.status_code, answer.json()) == (403, NOT_MANAGED)
    assert "POST /v4/account/settings/managed-enable" in answer.text


def test_a_restricted_user_of_a_managed_account_is_refused(cloud: Cloud) -> None:
    owner = cloud.person(username="dora", managed=True)
    body = {"username": "bob", "email": "bob@example.com", "restricted": True}
    assert owner.post("/v4/account/users", json=body).status_code == 200
    owner.put("/v4/account/users/bob/grants", json={"global": {"account_access": "read_write"}})
    owner.post("/v4/managed/contacts", json={})
    bob = cloud.client(cloud.token("bob"))
    for method, path in calls():
        answer = bob.request(method, path, json=None if method == "GET" else {})
        assert answer.status_code == (404 if "/1" in path and "contacts" not in path else 403), path
    assert bob.get("/v4/managed/contacts/1").json() == NO
    assert bob.get("/v4/managed/services").json() == NO
