"""Types, through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud

NANODE = {
    "addons": {"backups": {"price": {"hourly": 0.003, "monthly": 2}}},
    "class": "nanode",
    "disk": 25600,
    "gpus": 0,
    "id": "g6-nanode-1",
    "label": "Nanode 1GB",
    "memory": 1024,
    "network_out": 1000,
    "price": {"hourly": 0.0075, "monthly": 5},
    "successor": None,
    "transfer": 1000,
    "vcpus": 1,
}


def filtered(client: Client, path: str, wanted: dict[str, Any]) -> list[str]:
    answer = client.get(path, headers={"X-Filter": json.dumps(wanted)})
    assert answer.status_code == 200, answer.text
    return [plan["id"] for plan in answer.json()["data"]]


def test_types_are_listed_for_everybody_in_the_order_of_the_catalogue(cloud: Cloud) -> None:
    answer = cloud.client(None).get("/v4/compute/types")
    assert answer.status_code == 200
    page = answer.json()
    assert (page["page"], page["pages"], page["results"]) == (1, 1, len(page["data"]))
    ids = [plan["id"] for plan in page["data"]]
    assert ids[:4] == ["g6-nanode-1", "g6-standard-1", "g6-standard-2", "g6-standard-4"]
    assert page["data"][0] == NANODE
    assert all(plan["successor"] is None for plan in page["data"])


def test_a_token_is_accepted_and_not_needed(cloud: Cloud, alice: Client) -> None:
    assert alice.get("/v4/compute/types").json() == cloud.client(None).get("/v4/compute/types").json()
    assert cloud.client("no-such-token").get("/v4/compute/types").status_code == 200


def test_prices_are_exact_to_the_last_digit(alice: Client) -> None:
    text = alice.get("/v4/compute/types/g6-nanode-1").text
    assert '"price":{"hourly":0.0075,"monthly":5}' in text
    small = alice.get("/v4/compute/types/g6-standard-1").json()
    assert small["price"] == {"hourly": 0.015, "monthly": 10}
    assert small["addons"]["backups"]["price"] == {"hourly": 0.004, "monthly": 2.5}


@pytest.mark.parametrize(
    ("slug", "specs"),
    [
        ("g6-standard-6", ("standard", 6, 16384, 327680, 8000, 0, 0.12, 80)),
        ("g6-standard-32", ("standard", 32, 196608, 3932160, 20000, 0, 1.44, 960)),
        ("g6-dedicated-2", ("dedicated", 2, 4096, 81920, 4000, 0, 0.045, 30)),
        ("g7-highmem-16", ("highmem", 16, 307200, 348160, 9000, 0, 1.44, 960)),
        ("g1-gpu-rtx6000-4", ("gpu", 24, 131072, 2621440, 20000, 4, 6, 4000)),
    ],
)
def test_a_type_says_what_it_gives_and_costs(alice: Client, slug: str, specs: tuple[Any, ...]) -> None:
    plan = alice.get(f"/v4/compute/types/{slug}").json()
    names = ("class", "vcpus", "memory", "disk", "transfer", "gpus")
    assert (*(plan[name] for name in names), plan["price"]["hourly"], plan["price"]["monthly"]) == specs


def test_deprecated_types_are_listed_apart_with_their_successors(alice: Client) -> None:
    current = {plan["id"] for plan in alice.get("/v4/compute/types").json()["data"]}
    legacy = {plan["id"]: plan for plan in alice.get("/v4/compute/types-legacy").json()["data"]}
    assert not current & legacy.keys()
    assert legacy["g5-standard-4"]["successor"] == "g6-standard-4"
    assert legacy["g5-nanode-1"]["disk"] == 20480
    assert {plan["successor"] for plan in legacy.values()} <= current


def test_a_deprecated_type_can_be_viewed(alice: Client) -> None:
    assert alice.get("/v4/compute/types/g5-standard-4").json()["successor"] == "g6-standard-4"


def test_an_unknown_type_is_not_found(alice: Client) -> None:
    answer = alice.get("/v4/compute/types/g9-giant-1")
    assert answer.status_code == 404
    assert answer.json() == {"errors": [{"reason": "Not found"}]}


@pytest.mark.both
def test_types_are_filtered_and_sorted(alice: Client) -> None:
    assert filtered(alice, "/v4/compute/types", {"class": "nanode"}) == ["g6-nanode-1"]
    assert filtered(alice, "/v4/compute/types", {"gpus": {"+gte": 3}}) == ["g1-gpu-rtx6000-3", "g1-gpu-rtx6000-4"]
    assert filtered(alice, "/v4/compute/types", {"vcpus": 2, "memory": {"+lt": 5000}}) == [
        "g6-standard-2",
        "g6-dedicated-2",
    ]
    largest = {"class": "standard", "+order_by": "disk", "+order": "desc"}
    assert filtered(alice, "/v4/compute/types", largest)[0] == "g6-standard-32"
    assert filtered(alice, "/v4/compute/types-legacy", {"class": "nanode"}) == ["g5-nanode-1"]


def test_what_is_not_filterable_is_named(alice: Client) -> None:
    answer = alice.get("/v4/compute/types", headers={"X-Filter": '{"id": "g6-nanode-1", "successor": null}'})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "X-Filter", "reason": "Cannot filter on id"},
        {"field": "X-Filter", "reason": "Cannot filter on successor"},
    ]


def test_types_come_in_pages(alice: Client) -> None:
    whole = alice.get("/v4/compute/types").json()["data"]
    first = alice.get("/v4/compute/types?page_size=3").json()
    second = alice.get("/v4/compute/types?page_size=3&page=2").json()
    assert first["data"] + second["data"] == whole[:6]
    assert first["pages"] == -(-len(whole) // 3)
