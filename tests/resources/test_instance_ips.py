"""Addresses of an instance through HTTP."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from httpx2 import Client

from crofter.context import Context
from crofter.db.postgres import PostgresDatabase
from crofter.resources.instances.ips import blocks
from crofter.resources.instances.ips.blocks import address_block
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import act, create, deploy, entity, events, last, refused, view

URL = "/v4/compute/instances"
JUSTIFY = (
    "Additional IPv4 addresses require technical justification.  "
    "Please open a Support Ticket describing your requirement"
)


@pytest.fixture
def rich(cloud: Cloud) -> Client:
    """The owner of an account whose instances may have three public addresses."""
    return cloud.person(username="rich", public_ips=3)


def networking(client: Client, own: int) -> dict[str, Any]:
    answer = client.get(f"{URL}/{own}/ips")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.both
def test_all_addresses_of_an_instance_are_shown(cloud: Cloud, alice: Client) -> None:
    made = create(alice, private_ip=True)
    own = made["id"]
    public, private = made["ipv4"]
    shown = networking(alice, own)
    network = ipaddress.ip_network(f"{public}/24", strict=False)
    common = {"compute_id": own, "region": "us-east", "type": "ipv4"}
    assert shown["ipv4"] == {
        "public": [
            {
                **common,
                "address": public,
                "gateway": str(network[1]),
                "prefix": 24,
                "public": True,
                "rdns": f"{public.replace('.', '-')}.ip.computeusercontent.com",
                "subnet_mask": "255.255.255.0",
            }
        ],
        "private": [
            {
                **common,
                "address": private,
                "gateway": None,
                "prefix": 17,
                "public": False,
                "rdns": None,
                "subnet_mask": "255.255.128.0",
            }
        ],
        "reserved": [],
        "shared": [],
    }
    slaac, local = shown["ipv6"]["slaac"], shown["ipv6"]["link_local"]
    assert shown["ipv6"]["global"] is None
    assert (slaac["address"] + "/128", slaac["prefix"], slaac["gateway"]) == (made["ipv6"], 64, "fe80::1")
    assert (slaac["public"], slaac["rdns"], slaac["type"], slaac["compute_id"]) == (True, None, "ipv6", own)
    assert (local["public"], local["prefix"], local["address"][:5]) == (False, 64, "fe80:")
    assert slaac["address"].split("::")[-1][-9:] == local["address"].split("::")[-1][-9:]
    for address in (*shown["ipv4"]["public"], *shown["ipv4"]["private"], slaac, local):
        assert alice.get(f"{URL}/{own}/ips/{address['address']}").json() == address
    assert private.startswith("192.168.")
    assert int(private.split(".")[2]) >= 128


def test_a_second_public_address_needs_a_reason(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    refused(alice.post(f"{URL}/{own}/ips", json={"type": "ipv4", "public": True}), JUSTIFY)
    assert events(alice, "compute_addip") == []


def test_one_private_address_can_be_had(cloud: Cloud, alice: Client) -> None:
    own = create(alice, label="web")["id"]
    answer = alice.post(f"{URL}/{own}/ips", json={"type": "ipv4", "public": False})
    made = answer.json()
    assert (answer.status_code, made["public"], made["compute_id"]) == (200, False, own)
    assert view(alice, own)["ipv4"][1] == made["address"]
    event = last(alice, "compute_addip")
    assert (event["status"], entity(event["entity"])[:3]) == ("notification", ("compute", own, "web"))  # type: ignore[index]
    address = made["address"]
    assert entity(event["secondary_entity"]) == ("ipaddress", address, address, f"/v4/networking/ips/{address}")
    answer = alice.post(f"{URL}/{own}/ips", json={"type": "ipv4", "public": False})
    assert answer.status_code == 400
    assert alice.delete(f"{URL}/{own}/ips/{made['address']}").status_code == 400  # private ones stay


def test_who_was_granted_more_gets_more_and_gives_back_all_but_the_last(cloud: Cloud, rich: Client) -> None:
    own = deploy(cloud, rich)
    (first,) = view(rich, own)["ipv4"]
    more = [act(rich, own, "ips", type="ipv4", public=True)["address"] for _ in range(2)]
    refused(rich.post(f"{URL}/{own}/ips", json={"type": "ipv4", "public": True}), JUSTIFY)
    assert view(rich, own)["ipv4"] == [first, *more]
    for address in (more[0], first):
        assert rich.delete(f"{URL}/{own}/ips/{address}").json() == {}
        event = last(rich, "compute_deleteip")
        assert (event["status"], event["secondary_entity"]["id"]) == ("notification", address)
        assert rich.get(f"{URL}/{own}/ips/{address}").status_code == 404
    answer = rich.delete(f"{URL}/{own}/ips/{more[1]}")
    assert (answer.status_code, view(rich, own)["ipv4"]) == (400, [more[1]])
    cloud.settle()


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"type": "ipv6", "public": True}, "Only addresses of type ipv4 are currently supported.", None),
        ({"type": "ipv4"}, "public is required", "public"),
        ({"public": True}, "type is required", "type"),
        ({"type": "ipv4", "public": "yes"}, "Must be of type Boolean", "public"),
    ],
)
def test_what_cannot_be_allocated_is_refused(
    cloud: Cloud, alice: Client, body: dict[str, Any], reason: str, field: str | None
) -> None:
    own = create(alice)["id"]
    refused(alice.post(f"{URL}/{own}/ips", json=body), reason, field)


def test_all_that_is_wrong_with_an_allocation_is_told(cloud: Cloud, alice: Client) -> None:
    own = create(alice, private_ip=True)["id"]
    only = (None, "Only addresses of type ipv4 are currently supported.")
    held = ("public", "This Compute already has a private IPv4 address.")
    for body, problems in (
        ({"type": "x", "public": "y"}, [only, ("public", "Must be of type Boolean")]),
        ({"type": "x"}, [only, ("public", "public is required")]),
        ({"type": "x", "public": False}, [only, held]),
        ({"type": 4, "public": False}, [held, ("type", "Must be of type String")]),
    ):
        answer = alice.post(f"{URL}/{own}/ips", json=body)
        assert (answer.status_code, errors(answer)) == (400, problems)


def test_neither_ipv6_address_can_be_deleted(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    for name in ("slaac", "link_local"):
        address = networking(alice, own)["ipv6"][name]["address"]
        assert alice.delete(f"{URL}/{own}/ips/{address}").status_code == 400


def test_a_reverse_name_is_set_and_reset(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    shown = networking(alice, own)
    for before in (shown["ipv4"]["public"][0], shown["ipv6"]["slaac"]):
        address = f"{URL}/{own}/ips/{before['address']}"
        answer = alice.put(f"{URL}/{own}/ips/{before['address']}", json={"rdns": "web.example.com"})
        assert answer.json() == {**before, "rdns": "web.example.com"}
        assert alice.get(address).json()["rdns"] == "web.example.com"
        event = last(alice, "ipaddress_update")
        assert (event["status"], event["entity"]["id"], event["secondary_entity"]) == (
            "notification",
            before["address"],
            None,
        )
        for bad in ("no spaces.example.com", "-x.example.com", "example", "a..b", ""):
            refused(alice.put(address, json={"rdns": bad}), "Domain is not valid.", "rdns")
        assert alice.put(address, json={}).json()["rdns"] == "web.example.com"
        assert alice.put(address, json={"rdns": None}).json() == before
    assert len(events(alice, "ipaddress_update")) == 4


def test_only_public_addresses_have_reverse_names(cloud: Cloud, alice: Client) -> None:
    own = create(alice, private_ip=True)["id"]
    shown = networking(alice, own)
    slaac = f"{URL}/{own}/ips/{shown['ipv6']['slaac']['address']}"
    alice.put(slaac, json={"rdns": "six.example.com"})
    for shown_address in (shown["ipv4"]["private"][0], shown["ipv6"]["link_local"]):
        address = f"{URL}/{own}/ips/{shown_address['address']}"
        answer = alice.put(address, json={"rdns": "web.example.com"})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "rdns")
        assert alice.put(address, json={"rdns": None}).json() == shown_address
    assert alice.get(slaac).json()["rdns"] == "six.example.com"


def test_an_address_of_another_instance_is_not_found(cloud: Cloud, alice: Client) -> None:
    own, other = create(alice)["id"], create(alice)
    for method in ("GET", "PUT", "DELETE"):
        for address in (other["ipv4"][0], "4711", "::1", "100.64.0.0"):
            answer = alice.request(method, f"{URL}/{own}/ips/{address}", json=None if method != "PUT" else {})
            assert answer.status_code == 404, (method, address)


def test_released_addresses_rest_for_a_day_and_until_they_are_needed(
    cloud: Cloud, alice: Client, mallory: Client
) -> None:
    def use_up_the_block() -> None:
        with cloud.runtime.database.write() as db:
            db.update(address_block, {"region": "us-east"}, used=1_000_000)

    cloud.freeze()
    gone = create(alice)
    alice.delete(f"{URL}/{gone['id']}")
    cloud.settle()
    use_up_the_block()
    assert create(mallory)["ipv4"] != gone["ipv4"]  # the first of a new block
    cloud.advance(24 * 3600 + 1)
    assert create(mallory)["ipv4"] != gone["ipv4"]  # the second
    use_up_the_block()
    assert create(mallory)["ipv4"] == gone["ipv4"]
    assert create(mallory)["ipv4"] != gone["ipv4"]


def test_a_region_runs_out_of_addresses_politely(cloud: Cloud, alice: Client) -> None:
    create(alice, private_ip=True)
    with cloud.runtime.database.write() as db:
        db.update(address_block, {"public": False}, used=1_000_000)
    answer = alice.post(URL, json={"type": "g6-nanode-1", "region": "us-east", "private_ip": True})
    refused(answer, "No addresses are left in this region.")
    with cloud.runtime.database.write() as db:
        db.update(address_block, {"public": True}, used=1_000_000, number=63)
    answer = alice.post(URL, json={"type": "g6-nanode-1", "region": "us-east"})
    refused(answer, "No addresses are left in this region.")


def test_each_region_has_addresses_of_its_own(cloud: Cloud, alice: Client) -> None:
    networks = set()
    for region in ("us-east", "us-west", "eu-central"):
        made = [create(alice, region=region, private_ip=True) for _ in range(2)]
        assert made[0]["ipv4"][0] != made[1]["ipv4"][0]
        networks.add(ipaddress.ip_network(f"{made[0]['ipv4'][0]}/16", strict=False))
        assert made[0]["ipv6"].split("/")[0] != made[1]["ipv6"].split("/")[0]
    assert len(networks) == 3


def test_two_at_once_never_get_the_same(cloud: Cloud) -> None:
    def five(client: Client) -> list[list[str]]:
        return [create(client, private_ip=True)["ipv4"] for _ in range(5)]

    clients = [cloud.person() for _ in range(8)]
    made = at_once(*(partial(five, client) for client in clients))
    addresses = [address for addresses_of in made for pair in addresses_of for address in pair]
    assert len(set(addresses)) == len(addresses) == 80


@pytest.mark.both
@pytest.mark.parametrize("cloud", ["postgresql"], indirect=True)
def test_who_has_drawn_an_address_keeps_no_other_account_waiting_for_one(cloud: Cloud) -> None:
    runtime, client = cloud.runtime, cloud.person()
    before = create(client)["ipv4"]
    assert isinstance(runtime.database, PostgresDatabase)
    other = PostgresDatabase(runtime.database.address)
    with ExitStack() as open_transactions:
        drawn = []
        for _ in range(blocks.PARTS - 1):
            db = open_transactions.enter_context(other.write())
            drawn.append(blocks.draw(Context(runtime, db, None), "us-east", public=True))
        made = create(client)["ipv4"]
    other.close()
    assert len({*before, *drawn, *made}) == blocks.PARTS + 1


@pytest.mark.both
def test_of_two_that_take_the_last_address_one_is_refused(cloud: Cloud, rich: Client) -> None:
    own = create(rich)["id"]
    for _ in range(10):
        (first,) = view(rich, own)["ipv4"]
        second = act(rich, own, "ips", type="ipv4", public=True)["address"]
        answers = at_once(*(partial(rich.delete, f"{URL}/{own}/ips/{address}") for address in (first, second)))
        assert sorted(answer.status_code for answer in answers) == [200, 400]
        assert len(view(rich, own)["ipv4"]) == 1
