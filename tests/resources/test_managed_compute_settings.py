"""How the support staff gets into instances, through HTTP."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors

PATH = "/v4/managed/compute-settings"


@pytest.fixture
def dora(cloud: Cloud) -> Client:
    """Return the owner of a managed account with an instance."""
    client = cloud.person(username="dora", managed=True)
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "web-1", "group": "front"}
    assert client.post("/v4/compute/instances", json=body).status_code == 200
    return client


@pytest.mark.both
def test_every_instance_has_settings(dora: Client) -> None:
    default = {
        "group": "front",
        "id": 1,
        "label": "web-1",
        "ssh": {"access": True, "ip": "any", "port": 22, "user": "root"},
    }
    assert dora.get(PATH).json() == {"data": [default], "page": 1, "pages": 1, "results": 1}
    assert dora.get(f"{PATH}/1").json() == default


def test_settings_are_changed_one_by_one(dora: Client) -> None:
    address = dora.get("/v4/compute/instances/1").json()["ipv4"][0]
    changed = dora.put(f"{PATH}/1", json={"ssh": {"access": False, "ip": address}}).json()
    assert changed["ssh"] == {"access": False, "ip": address, "port": 22, "user": "root"}
    changed = dora.put(f"{PATH}/1", json={"ssh": {"port": 2222, "user": "admin"}, "label": "other"}).json()
    assert changed["ssh"] == {"access": False, "ip": address, "port": 2222, "user": "admin"}
    assert changed["label"] == "web-1"
    assert dora.get(PATH).json()["data"] == [changed]
    assert dora.put(f"{PATH}/1", json={"ssh": {"ip": "any"}}).json()["ssh"]["ip"] == "any"
    assert dora.put(f"{PATH}/1", json={}).json()["ssh"]["port"] == 2222


def test_what_cannot_be_set_is_refused(dora: Client) -> None:
    assert errors(dora.put(f"{PATH}/1", json={"ssh": {"access": 1, "port": 0, "user": "u" * 33}})) == [
        ("ssh.access", "Must be of type Boolean"),
        ("ssh.port", "Must be 1-65535"),
        ("ssh.user", "Length must be 0-32 characters"),
    ]
    refused = dora.put(f"{PATH}/1", json={"ssh": {"ip": "203.0.113.77"}})
    assert errors(refused) == [("ssh.ip", "Must be an address of this Compute, or any")]


def test_settings_are_those_of_ones_own_instances(cloud: Cloud, dora: Client) -> None:
    other = cloud.person(username="mallory", managed=True)
    assert other.get(PATH).json()["results"] == 0
    assert other.get(f"{PATH}/1").status_code == 404
    assert other.put(f"{PATH}/1", json={"ssh": {"access": False}}).status_code == 404
