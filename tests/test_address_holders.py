"""`crofter admin addresses whose`: the account and the machine of an address."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from tests.cloud import Cloud
from tests.resources.compute import deploy, view
from tests.test_staff import AdminCommands

pytestmark = pytest.mark.both


@pytest.fixture
def cloud(cloud_in_folder: Cloud) -> Cloud:
    return cloud_in_folder


@pytest.fixture
def admin(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AdminCommands:
    return AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)


def test_addresses_of_an_instance_lead_to_its_account(cloud: Cloud, admin: AdminCommands) -> None:
    cloud.person(username="mallory")
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    own, other = deploy(cloud, alice), deploy(cloud, alice)
    shown = view(alice, own)
    body = {"prefix_length": 64, "compute_id": own}
    routed = alice.post("/v4/networking/ipv6/ranges", json=body).json()["range"].partition("/")[0]
    inside = str(ipaddress.IPv6Address(routed) + 0x1234)
    outside = str(ipaddress.IPv6Address(routed) + (1 << 64))
    holder = {"euuid": account["euuid"], "username": "alice", "suspended": False, "id": own}
    holder |= {"label": shown["label"], "region": shown["region"], "status": "running"}
    for address in (shown["ipv4"][0], shown["ipv6"].partition("/")[0]):
        assert admin("addresses", "whose", address) == [{"by": "address", **holder}], address
    assert admin("addresses", "whose", inside.upper()) == [{"by": f"range {routed}/64", **holder}]
    admin("addresses", "whose", outside, code=1)
    alice.post("/v4/networking/ipv4/share", json={"compute_id": other, "ips": view(alice, own)["ipv4"]})
    rows = admin("addresses", "whose", shown["ipv4"][0])
    assert [(row["by"], row["id"]) for row in rows] == [("address", own), ("shared", other)]


def test_an_address_of_a_load_balancer_leads_to_its_account(cloud: Cloud, admin: AdminCommands) -> None:
    account = cloud.account(username="alice")
    made = cloud.client(account["token"]).post("/v4/nodebalancers", json={"region": "us-east", "label": "front"}).json()
    for address in (made["ipv4"], made["ipv6"]):
        (balancer,) = admin("addresses", "whose", address)
        assert (balancer["by"], balancer["euuid"], balancer["id"], balancer["status"]) == (
            "load balancer",
            account["euuid"],
            made["id"],
            None,
        )


def test_an_address_that_was_released_belongs_to_no_account(cloud: Cloud, admin: AdminCommands) -> None:
    alice = cloud.person(username="alice")
    own = deploy(cloud, alice)
    shown = view(alice, own)
    alice.delete(f"/v4/compute/instances/{own}")
    cloud.settle()
    for address in (shown["ipv4"][0], shown["ipv6"].partition("/")[0], "2001:db8::1"):
        admin("addresses", "whose", address, code=1)
        assert admin.stderr == f"crofter: no instance and no load balancer has the address {address} now\n"
    admin("addresses", "whose", "203.0.113", code=1)
    assert admin.stderr == "crofter: '203.0.113' is no IP address\n"
