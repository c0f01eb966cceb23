"""``+order_by``: each list takes every field of its items that holds one value, and sorts by what it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter.db.collections import filterable, sortable
from crofter.edge import listing
from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.edge import filter_model as model
from tests.matrix import Matrix, declared
from tests.observed import errors

LISTS = [endpoint for endpoint in ENDPOINTS if endpoint.item is not None and endpoint.listing]
SCALARS = (str, int, float, bool)
ADDED = {
    "list_instances": {"created", "updated", "status", "type"},
    "list_invoices": {"date"},
    "list_payments": {"date"},
    "list_tickets": {"status", "opened", "updated"},
    "list_stackscripts": {"created", "updated", "username"},
    "list_logins": {"datetime", "username"},
    "list_account_logins": {"datetime", "username"},
    "list_ssh_keys": {"label", "created"},
    "list_volumes": {"region", "status", "compute_id", "created", "updated"},
    "list_regions": {"country"},
    "list_events": {"status", "created"},
    "list_domain_records": {"created", "updated"},
}


def path_of(matrix: Matrix, endpoint: Endpoint) -> str:
    path = declared(endpoint).path
    for name, value in matrix.parts_of(endpoint).items():
        path = path.replace(f"{{{name}}}", str(value)).replace(f"{{{name}:path}}", str(value))
    return path


def shown(client: Client, path: str, wanted: dict[str, Any], **asked: Any) -> Any:
    answer = client.get(path, headers={"X-Filter": json.dumps(wanted)}, params=asked)
    assert answer.status_code == 200, (path, wanted, answer.text)
    return answer.json()


def place(value: Any) -> tuple[bool, Any]:
    return value is not None, value.lower() if isinstance(value, str) else value or 0


@pytest.mark.both
def test_every_list_is_ordered_by_each_field_with_one_value(cloud: Cloud) -> None:
    matrix = Matrix(cloud)
    asked = 0
    for endpoint in LISTS:
        path, names = path_of(matrix, endpoint), sortable(endpoint.item)
        items = matrix.alice.get(path).json()["data"]
        single = {name for item in items for name, value in item.items() if isinstance(value, SCALARS)}
        assert single <= names.keys(), endpoint.name
        for name in names:
            for order in ("asc", "desc"):
                data = shown(matrix.alice, path, {"+order_by": name, "+order": order})["data"]
                values = [place(item[name]) for item in data]
                assert values == sorted(values, reverse=order == "desc"), (endpoint.name, name, order)
                assert len(data) == len(items)
                asked += 1
    assert asked > 600


def test_filterable_fields_are_those_that_are_promised() -> None:
    for endpoint in LISTS:
        names = set(filterable(endpoint.item))
        dated = {"created", "updated"} & set(sortable(endpoint.item))
        assert dated | ADDED.get(endpoint.name, set()) <= names, endpoint.name


def test_the_new_filters_find_what_they_say(cloud: Cloud) -> None:
    matrix = Matrix(cloud)
    for endpoint in LISTS:
        path = path_of(matrix, endpoint)
        items = matrix.alice.get(path).json()["data"]
        for name in ({"created", "updated"} | ADDED.get(endpoint.name, set())) & set(filterable(endpoint.item)):
            for value in {item[name] for item in items}:
                for wanted in ({name: value}, {name: {"+neq": value}}):
                    expected = [item for item in items if model.matches(item, wanted)]
                    page = shown(matrix.alice, path, wanted)
                    assert (page["data"], page["results"]) == (expected, len(expected)), (endpoint.name, wanted)


def test_an_order_that_no_column_holds_is_paged_and_limited(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for label in ("b", "C", "a", "d", "B2"):
        body = {"type": "g6-nanode-1", "region": "us-east", "label": f"machine-{label}"}
        assert alice.post("/v4/compute/instances", json=body).status_code == 200
    listed = [item["id"] for item in alice.get("/v4/compute/instances").json()["data"]]
    wanted = {"+order_by": "hypervisor", "+order": "desc"}
    assert [item["id"] for item in shown(alice, "/v4/compute/instances", wanted)["data"]] == listed[::-1]
    page = shown(alice, "/v4/compute/instances", wanted, page=2, page_size=2)
    assert [item["id"] for item in page["data"]] == listed[::-1][2:4]
    assert (page["page"], page["pages"], page["results"]) == (2, 3, 5)
    monkeypatch.setattr(listing, "MAX_SORTED", 4)
    refused = alice.get("/v4/compute/instances", headers={"X-Filter": json.dumps(wanted)})
    reason = "+order_by hypervisor sorts at most 4 items, and 5 match; add a condition or order by another field"
    assert errors(refused) == [("X-Filter", f"Could not apply filter: {reason}")]
    narrowed = wanted | {"label": {"+neq": "machine-a"}}
    assert shown(alice, "/v4/compute/instances", narrowed)["results"] == 4
