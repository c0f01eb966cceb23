"""The operations of the family that this server belongs to: each is served, or left out on purpose and said to be."""

from __future__ import annotations

import pytest
from httpx2 import Client
from tools import coverage

from crofter.edge import unplanned
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.observed import errors

FAMILY = coverage.family(ENDPOINTS)
UNPLANNED = {"Kubernetes", "Object storage"}


def test_whatever_is_not_served_is_left_out_on_purpose() -> None:
    assert len(FAMILY) == len({operation.row for operation in FAMILY}) == 296
    assert [operation.row for operation in FAMILY if operation.state == "not yet"] == []


def test_what_is_not_planned_is_of_two_groups_and_says_why() -> None:
    left_out = [operation for operation in FAMILY if operation.state == "not planned"]
    assert {operation.group for operation in left_out} == UNPLANNED
    assert {operation.state for operation in FAMILY if operation.group in UNPLANNED} == {"not planned"}
    assert all(operation.served_by_or_why_not.startswith("Not found: ") for operation in left_out)


def test_the_interface_is_in_the_family() -> None:
    """Check that all rows but one are in the family; that one is this server's own."""
    known = {operation.row.loose_shape for operation in FAMILY}
    own = [f"{row.method} {row.path}" for row in coverage.interface() if row.loose_shape not in known]
    assert own == ["DELETE /v4/managed/credentials/{credentialId}"]
    assert sum(operation.state == "interface" for operation in FAMILY) == len(coverage.interface()) - len(own)


def test_an_operation_that_goes_missing_is_noticed() -> None:
    fewer = coverage.family([endpoint for endpoint in ENDPOINTS if endpoint.name != "list_tags"])
    assert [operation.row.path for operation in fewer if operation.state == "not yet"] == ["/v4/tags"]


@pytest.mark.both
def test_who_asks_for_what_is_not_planned_is_told_so(cloud: Cloud, alice: Client) -> None:
    """Refuse unplanned operations without a token, in the order of checks of any missing path."""
    for client in (alice, cloud.client(None), cloud.client("not-a-token")):
        for operation in FAMILY:
            if operation.state == "not planned":
                path = operation.row.path.replace("{", "").replace("}", "")
                answer = client.request(operation.row.method, path, json=None if operation.row.method == "GET" else {})
                assert answer.status_code == 404
                assert errors(answer) == [(None, operation.served_by_or_why_not)]


def test_other_methods_versions_and_spellings_are_told_too(alice: Client) -> None:
    for method in ("GET", "PUT", "POST", "DELETE", "PATCH"):
        for path in ("/v4/lke/clusters", "/v4beta/lke", "/v4//lke/", "/v4/lke/no/such/thing"):
            assert errors(alice.request(method, path)) == [(None, unplanned.REASONS["lke"])]
    assert alice.get("/v4/databases/instances").json()["errors"][0]["reason"] == unplanned.REASONS["databases"]
    assert alice.options("/v4/lke/clusters").status_code == 200
    assert alice.head("/v4/lke/clusters").status_code == 404


def test_what_only_looks_like_it_is_simply_not_there(alice: Client) -> None:
    for path in ("/v4/lkes", "/lke/clusters", "/v5/lke/clusters", "/v4/tags/lke/lke", "/v4", "/v4/"):
        assert errors(alice.get(path)) == [(None, "Not found")]
