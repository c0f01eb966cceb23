"""Volumes, firewalls and load balancers of an instance, through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.stock import Stock

EMPTY = {"data": [], "page": 1, "pages": 1, "results": 0}
LISTS = ("volumes", "firewalls", "nodebalancers")


@pytest.fixture
def stock(cloud: Cloud, alice: Client) -> Stock:
    return Stock(cloud, "alice")


def instance(client: Client, **body: Any) -> int:
    answer = client.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1", **body})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def listed(client: Client, compute_id: int, name: str, **wanted: Any) -> list[int]:
    headers = {"X-Filter": json.dumps(wanted)} if wanted else {}
    answer = client.get(f"/v4/compute/instances/{compute_id}/{name}", headers=headers)
    assert answer.status_code == 200, answer.text
    return [instance["id"] for instance in answer.json()["data"]]


def private_address(client: Client, compute_id: int) -> str:
    addresses: list[str] = client.get(f"/v4/compute/instances/{compute_id}").json()["ipv4"]
    return next(address for address in addresses if address.startswith("192.168."))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.both
def test_a_new_instance_has_none(alice: Client, name: str) -> None:
    assert alice.get(f"/v4/compute/instances/{instance(alice)}/{name}").json() == EMPTY


@pytest.mark.parametrize("name", LISTS)
def test_somebody_elses_instance_is_not_there(alice: Client, mallory: Client, name: str) -> None:
    own = instance(alice)
    for compute_id in (own, 4711):
        assert mallory.get(f"/v4/compute/instances/{compute_id}/{name}").status_code == 404


@pytest.mark.parametrize("name", LISTS)
def test_the_scope_is_that_of_instances(cloud: Cloud, alice: Client, name: str) -> None:
    own = instance(alice)
    for scope, status in (("computes:read_only", 200), ("volumes:read_write firewall:read_write", 403)):
        client = cloud.client(cloud.token("alice", scope))
        assert client.get(f"/v4/compute/instances/{own}/{name}").status_code == status


@pytest.mark.parametrize("name", LISTS)
def test_a_restricted_user_needs_a_grant_on_the_instance(alice: Client, stock: Stock, name: str) -> None:
    granted, other = instance(alice), instance(alice)
    stock.restrict(("compute", granted))
    assert alice.get(f"/v4/compute/instances/{granted}/{name}").status_code == 200
    assert alice.get(f"/v4/compute/instances/{other}/{name}").status_code == 403


def test_the_volumes_of_an_instance_are_listed(alice: Client, stock: Stock) -> None:
    own = instance(alice, label="web-server")
    volume_id = stock.volume(own)
    stock.volume(None, "spare")
    stock.volume(instance(alice), "elsewhere")
    stock.tag("volume", volume_id, "blue")
    assert alice.get(f"/v4/compute/instances/{own}/volumes").json()["data"] == [
        {
            "compute_id": own,
            "compute_label": "web-server",
            "created": "2026-01-01T00:00:00",
            "filesystem_path": "/dev/disk/by-id/scsi-0Compute_Volume_data",
            "hardware_type": "nvme",
            "id": volume_id,
            "label": "data",
            "region": "us-east",
            "size": 20,
            "status": "active",
            "tags": ["blue"],
            "updated": "2026-01-01T00:00:00",
        }
    ]


def test_the_firewalls_of_an_instance_are_listed(alice: Client, stock: Stock) -> None:
    own = instance(alice)
    firewall_id = stock.firewall(own)
    stock.firewall(own, "not-this-kind", kind="nodebalancer")
    stock.firewall(own + 1, "not-this-one")
    assert alice.get(f"/v4/compute/instances/{own}/firewalls").json()["data"] == [
        {
            "created": "2026-01-01T00:00:00",
            "id": firewall_id,
            "label": "web",
            "rules": {
                "inbound": [
                    {
                        "protocol": "TCP",
                        "addresses": {"ipv4": ["0.0.0.0/0"], "ipv6": []},
                        "action": "ACCEPT",
                        "ports": "443",
                    }
                ],
                "inbound_policy": "DROP",
                "outbound": [],
                "outbound_policy": "ACCEPT",
            },
            "status": "enabled",
            "tags": [],
            "updated": "2026-01-01T00:00:00",
        }
    ]


def test_the_load_balancers_of_an_instance_are_those_that_lead_to_its_private_address(
    alice: Client, stock: Stock
) -> None:
    own = instance(alice, private_ip=True)
    host = private_address(alice, own)
    balancer_id = stock.nodebalancer(host, nodes=3)
    stock.nodebalancer(host, "same-address-elsewhere", region="us-west")
    stock.nodebalancer("192.168.255.1", "another")
    assert alice.get(f"/v4/compute/instances/{own}/nodebalancers").json() == {
        "data": [
            {
                "client_conn_throttle": 0,
                "created": "2026-01-01T00:00:00",
                "hostname": "front.example.com",
                "id": balancer_id,
                "ipv4": "100.64.200.5",
                "ipv6": None,
                "label": "front",
                "region": "us-east",
                "tags": [],
                "transfer": {"in": None, "out": None, "total": None},
                "updated": "2026-01-01T00:00:00",
            }
        ],
        "page": 1,
        "pages": 1,
        "results": 1,
    }
    assert listed(alice, instance(alice, private_ip=True), "nodebalancers") == []


def test_somebody_elses_objects_never_show(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = instance(alice, private_ip=True)
    stranger = Stock(cloud, "mallory")
    stranger.nodebalancer(private_address(alice, own))
    stranger.firewall(own)
    stranger.volume(own)
    for name in LISTS:
        assert listed(alice, own, name) == []


def test_a_restricted_user_sees_only_what_was_granted(alice: Client, stock: Stock) -> None:
    own = instance(alice, private_ip=True)
    host = private_address(alice, own)
    seen = {
        "volume": stock.volume(own, "seen"),
        "firewall": stock.firewall(own, "seen"),
        "nodebalancer": stock.nodebalancer(host, "seen"),
    }
    stock.volume(own, "hidden")
    stock.firewall(own, "hidden")
    stock.nodebalancer(host, "hidden")
    stock.restrict(("compute", own), *seen.items())
    for kind, object_id in seen.items():
        assert listed(alice, own, f"{kind}s") == [object_id]


def test_the_lists_are_filtered(alice: Client, stock: Stock) -> None:
    own = instance(alice, private_ip=True)
    host = private_address(alice, own)
    first, second = stock.volume(own, "first"), stock.volume(own, "second")
    wall = stock.firewall(own, "wall")
    balancer = stock.nodebalancer(host, "front")
    stock.tag("volume", second, "blue")
    stock.tag("firewall", wall, "green")
    assert listed(alice, own, "volumes", label="FIRST") == [first]
    assert listed(alice, own, "volumes", tags="blue") == [second]
    assert listed(alice, own, "volumes", **{"+order_by": "label", "+order": "desc"}) == [second, first]
    assert listed(alice, own, "firewalls", id=wall, tags={"+contains": "gre"}, created={"+lt": "2027-01-01T00:00:00"})
    assert listed(alice, own, "firewalls", tags="blue") == []
    assert listed(alice, own, "nodebalancers", region="us-east", ipv4="100.64.200.5") == [balancer]
    refused = alice.get(f"/v4/compute/instances/{own}/volumes", headers={"X-Filter": '{"size": 20}'})
    assert refused.json() == {"errors": [{"field": "X-Filter", "reason": "Cannot filter on size"}]}


def test_an_instance_that_goes_frees_its_volumes_and_its_firewalls(cloud: Cloud, alice: Client, stock: Stock) -> None:
    own = instance(alice)
    volume_id, firewall_id = stock.volume(own), stock.firewall(own)
    assert alice.delete(f"/v4/compute/instances/{own}").status_code == 200
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw(f"SELECT instance_id FROM volume WHERE id = {volume_id}").fetchone()[0] is None
        assert db.raw(f"SELECT count(*) FROM firewall WHERE id = {firewall_id}").fetchone()[0] == 1
        assert db.raw(f"SELECT count(*) FROM firewall_device WHERE firewall_id = {firewall_id}").fetchone()[0] == 0
