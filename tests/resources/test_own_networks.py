"""Regions whose public addresses are of an operator's own networks."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client
from msgspec.structs import replace

from crofter.config import SettingsError, load
from crofter.context import Context
from crofter.db import Database, Session, query
from crofter.db.sql import select
from crofter.errors import Invalid
from crofter.region_settings import RegionSettings
from crofter.resources.instances import hypervisor_client
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import networks
from crofter.resources.instances.ips.blocks import address_block, region_network, released_address
from tests.cloud import Cloud
from tests.resources.compute import create, refused

URL = "/v4/compute/instances"
FREE = query(select(released_address.c.address).where(released_address.c.region == "eu-west"))
NANODE = {"type": "g6-nanode-1", "region": "eu-west"}


def add(
    cloud: Cloud, network: str, region: str = "eu-west", gateway: str | None = None, addresses: str | None = None
) -> None:
    with cloud.runtime.database.write() as db:
        networks.add(db, region, network, gateway, addresses)


def listed(cloud: Cloud) -> list[tuple[str, str, int]]:
    with cloud.runtime.database.read() as db:
        return [(row.network, row.region, networks.free(db, row)) for row in networks.all_of(db)]


@pytest.mark.both
def test_a_region_draws_from_its_own_networks_alone_and_in_order(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    add(cloud, "203.0.113.0/30")
    add(cloud, "198.51.100.8/31")
    made = [create(alice, region="eu-west") for _ in range(2)]
    drawn = [instance["ipv4"][0] for instance in made]
    assert sorted(drawn) == ["198.51.100.9", "203.0.113.2"]
    refused(alice.post(URL, json=NANODE), "No addresses are left in this region.")
    shown = alice.get(f"{URL}/{made[drawn.index('203.0.113.2')]['id']}/ips").json()["ipv4"]["public"][0]
    assert (shown["gateway"], shown["prefix"]) == ("203.0.113.1", 30)
    assert create(alice, region="us-east")["ipv4"][0].startswith("100.64."), "another region has the built-in ones"
    assert listed(cloud) == [("198.51.100.8/31", "eu-west", 0), ("203.0.113.0/30", "eu-west", 0)]
    assert alice.delete(f"{URL}/{made[0]['id']}").status_code == 200
    cloud.settle()
    refused(alice.post(URL, json=NANODE), "No addresses are left in this region.")
    cloud.advance(24 * 3600 + 1)
    assert create(alice, region="eu-west")["ipv4"] == [drawn[0]], "it has rested for a day"


@pytest.mark.both
def test_networks_of_regions_never_overlap_and_stay_while_they_are_used(cloud: Cloud, alice: Client) -> None:
    add(cloud, "203.0.113.0/25")
    with pytest.raises(Invalid, match=r"203\.0\.113\.64/26 overlaps with 203\.0\.113\.0/25 of eu-west"):
        add(cloud, "203.0.113.64/26", "us-west")
    create(alice, region="eu-west")
    with (
        pytest.raises(Invalid, match=r"addresses of 203\.0\.113\.0/25 are in use \(1\)"),
        cloud.runtime.database.write() as db,
    ):
        networks.remove(db, "203.0.113.0/25")
    add(cloud, "203.0.113.128/25")
    with cloud.runtime.database.write() as db:
        networks.remove(db, "203.0.113.128/25")
    assert listed(cloud) == [("203.0.113.0/25", "eu-west", 124)]


def test_a_region_has_the_built_in_addresses_again_when_its_last_network_is_gone(cloud: Cloud, alice: Client) -> None:
    add(cloud, "203.0.113.0/24")
    with cloud.runtime.database.write() as db:
        networks.remove(db, "203.0.113.0/24")
    assert create(alice, region="eu-west")["ipv4"][0].startswith("100.64.")
    with pytest.raises(Invalid, match=r"built-in addresses of eu-west are in use \(1\)"):
        add(cloud, "203.0.113.0/24")


@pytest.mark.parametrize(
    ("network", "gateway", "addresses", "drawn", "shown"),
    [
        ("203.0.113.8/29", None, None, ["203.0.113.10", "203.0.113.14"], ("203.0.113.9", 29, "255.255.255.248")),
        ("203.0.113.8/29", "203.0.113.14", None, ["203.0.113.9", "203.0.113.13"], ("203.0.113.14", 29, None)),
        ("203.0.113.32/27", None, None, ["203.0.113.34", "203.0.113.62"], ("203.0.113.33", 27, None)),
        ("203.0.112.0/23", None, None, ["203.0.112.2", "203.0.113.254"], ("203.0.112.1", 23, "255.255.254.0")),
        (
            "203.0.113.0/24",
            None,
            "203.0.113.9-203.0.113.10",
            ["203.0.113.9", "203.0.113.10"],
            ("203.0.113.1", 24, None),
        ),
        ("203.0.113.4/31", "203.0.113.5", None, ["203.0.113.4", "203.0.113.4"], ("203.0.113.5", 31, None)),
    ],
)
def test_a_network_of_any_prefix_has_its_own_gateway_and_range(
    cloud: Cloud,
    alice: Client,
    network: str,
    gateway: str | None,
    addresses: str | None,
    drawn: list[str],
    shown: tuple[str, int, str | None],
) -> None:
    """Its name, broadcast and gateway are never given out, and a guest is configured with its real prefix."""
    add(cloud, network, gateway=gateway, addresses=addresses)
    with cloud.runtime.database.read() as db:
        (row,) = networks.all_of(db)
        free = db.column(FREE)
    given = sorted(free, key=ipaddress.IPv4Address)
    assert [given[0], given[-1]] == drawn
    assert len(given) == networks.size(row)
    made = create(alice, region="eu-west")
    own = alice.get(f"{URL}/{made['id']}/ips").json()["ipv4"]["public"][0]
    assert (own["gateway"], own["prefix"]) == shown[:2]
    assert shown[2] in (None, own["subnet_mask"])
    assert alice.get("/v4/networking/ips").json()["data"][0] == own
    with cloud.runtime.database.read() as db:
        ctx = Context(cloud.runtime, db)
        network_of_guest = hypervisor_client.network_of(ctx, instances.get_unscoped(ctx, made["id"]))
    assert (network_of_guest.guest, network_of_guest.gateway) == ((f"{drawn[0]}/{shown[1]}",), shown[0])


@pytest.mark.parametrize(
    ("network", "gateway", "addresses", "reason"),
    [
        ("203.0.113.7/32", None, None, "no address that could be given out"),
        (
            "203.0.113.0/29",
            "203.0.113.0",
            None,
            r"gateway 203\.0\.113\.0 is not one of 203\.0\.113\.1 to 203\.0\.113\.6",
        ),
        ("203.0.113.0/29", "203.0.113.9", None, "gateway"),
        ("203.0.113.0/29", "router", None, "'router' is none"),
        ("203.0.113.0/29", None, "203.0.113.4-203.0.113.7", r"last address 203\.0\.113\.7"),
        ("203.0.113.0/29", None, "203.0.113.4-203.0.113.3", "no address that could be given out"),
        ("203.0.113.1/29", None, None, "no IPv4 network"),
        ("2001:db8:7::/48", None, None, "IPv6 prefix of a region is a setting"),
    ],
)
def test_a_network_that_cannot_be_is_refused(
    cloud: Cloud, network: str, gateway: str | None, addresses: str | None, reason: str
) -> None:
    with pytest.raises(Invalid, match=reason):
        add(cloud, network, gateway=gateway, addresses=addresses)
    assert listed(cloud) == []


def test_a_network_of_an_earlier_release_is_shown_as_it_was(cloud: Cloud, alice: Client) -> None:
    with cloud.runtime.database.write() as db:
        db.insert(region_network, network="203.0.113.0/29", region="eu-west", gateway=None, first=None, last=None)
        db.insert(released_address, address="203.0.113.6", region="eu-west", public=True, free_at=1)
    own = alice.get(f"{URL}/{create(alice, region='eu-west')['id']}/ips").json()["ipv4"]["public"][0]
    assert (own["address"], own["gateway"], own["prefix"]) == ("203.0.113.6", "203.0.113.1", 24)
    assert listed(cloud) == [("203.0.113.0/29", "eu-west", 0)]


# ---- IPv6, and names ------------------------------------------------------------------------------------------------


@pytest.fixture
def named_cloud(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """A region has a prefix of its own, and names are in a domain of the operator."""
    regions = {"eu-west": RegionSettings(ipv6="2a01:4f8:77::/55")}
    settings = replace(cloud.runtime.settings, regions=regions, host_domain="hosts.example.org")
    monkeypatch.setattr(cloud.runtime, "settings", settings)
    return cloud


def test_a_region_has_its_own_ipv6_prefix(named_cloud: Cloud, alice: Client) -> None:
    here, elsewhere = create(alice, region="eu-west"), create(alice, region="us-east")
    assert here["ipv6"] == f"2a01:4f8:77:0:f03c:95ff:fe00:{here['id']:x}/128"
    assert elsewhere["ipv6"].startswith("2001:db8:")
    shown = alice.get(f"{URL}/{here['id']}").json()
    assert [row["ipv6"] for row in alice.get(URL).json()["data"]] == [shown["ipv6"], elsewhere["ipv6"]]
    address = here["ipv6"].removesuffix("/128")
    assert alice.get(f"{URL}/{here['id']}/ips").json()["ipv6"]["slaac"]["address"] == address
    assert alice.get(f"/v4/networking/ips/{address}").json()["compute_id"] == here["id"]
    with named_cloud.runtime.database.read() as db:
        ctx = Context(named_cloud.runtime, db)
        assert address in hypervisor_client.network_of(ctx, instances.get_unscoped(ctx, here["id"])).addresses


@pytest.mark.both
def test_ranges_of_a_region_are_of_its_prefix_and_rest_for_a_day(
    named_cloud: Cloud, alice: Client, mallory: Client
) -> None:
    named_cloud.freeze()
    here = create(alice, region="eu-west")["id"]
    body = {"compute_id": here, "prefix_length": 64}
    made = alice.post("/v4/networking/ipv6/ranges", json=body).json()
    assert made["range"] == "2a01:4f8:77:100::/64"
    url = "/v4/networking/ipv6/ranges/2a01:4f8:77:100::"
    assert alice.get(url).json()["computes"] == [here]
    assert mallory.get(url).status_code == 404
    other = {"compute_id": create(mallory, region="eu-west")["id"], "prefix_length": 64}
    refused(mallory.post("/v4/networking/ipv6/ranges", json=other), "No ranges are left in this region.")
    for _ in range(2):
        assert alice.delete(url).status_code == 200
        for client, wanted in ((mallory, other), (alice, body)):
            answer = client.post("/v4/networking/ipv6/ranges", json=wanted)
            refused(answer, "No ranges are left in this region.")
        named_cloud.advance(24 * 3600 + 1)
        assert alice.post("/v4/networking/ipv6/ranges", json=body).json()["range"] == made["range"]
    assert alice.delete(f"{URL}/{here}").status_code == 200
    named_cloud.settle()
    refused(mallory.post("/v4/networking/ipv6/ranges", json=other), "No ranges are left in this region.")
    named_cloud.advance(24 * 3600 + 1)
    assert mallory.post("/v4/networking/ipv6/ranges", json=other).json()["range"] == made["range"]
    far = {"compute_id": create(alice, region="us-east")["id"], "prefix_length": 64}
    assert alice.post("/v4/networking/ipv6/ranges", json=far).json()["range"].startswith("2001:db8:")


@pytest.mark.usefixtures("named_cloud")
def test_names_of_addresses_are_in_the_domain_of_the_operator(alice: Client) -> None:
    made = create(alice, region="us-east")
    own = alice.get(f"{URL}/{made['id']}/ips").json()["ipv4"]["public"][0]
    assert own["rdns"] == own["address"].replace(".", "-") + ".hosts.example.org"
    balancer = alice.post("/v4/nodebalancers", json={"region": "us-east"}).json()
    assert balancer["hostname"] == balancer["ipv4"].replace(".", "-") + ".hosts.example.org"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"host_domain": "no domain"}, "host_domain is the domain of host names"),
        ({"regions": {"eu-west": {"ipv6": "2a01:4f8:77::/65"}}}, "at most 64 bits"),
        ({"regions": {"eu-west": {"ipv6": "10.0.0.0/8"}}}, "ipv6 of region eu-west is a network like"),
        (
            {"regions": {"eu-west": {"ipv6": "2a01:4f8::/40"}, "us-east": {"ipv6": "2a01:4f8:1::/48"}}},
            "ipv6 of region us-east overlaps with that of eu-west",
        ),
    ],
)
def test_settings_of_addresses_that_cannot_be_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        load(settings, {})


def _meanwhile(database: Database, first: Callable[[Session], object], then: Callable[[Session], object]) -> list[str]:
    """Return the problems of ``then``, which begins during the transaction of ``first`` and must wait."""
    wrong: list[str] = []

    def other() -> None:
        try:
            with database.write() as db:
                then(db)
        except Invalid as error:
            wrong.append(str(error))

    thread = threading.Thread(target=other)
    with database.write() as db:
        first(db)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive(), "it did not wait"
    thread.join(30)
    return wrong


def test_an_address_that_is_being_drawn_is_not_overlooked(postgres_database: Database) -> None:
    """Count addresses that are being drawn: built-in ones at a region's first network, and a removed network's."""
    part = {"region": "eu-west", "public": True, "part": 0}
    with postgres_database.write() as db:
        db.insert(address_block, **part, number=0, used=0)
        networks.add(db, "us-west", "198.51.100.8/31")
    wrong = _meanwhile(
        postgres_database,
        lambda db: db.update(address_block, part, used=1),
        lambda db: networks.add(db, "eu-west", "203.0.113.0/24"),
    )
    assert wrong == ["built-in addresses of eu-west are in use (1): add networks first"]
    wrong = _meanwhile(
        postgres_database,
        lambda db: db.delete(released_address, address="198.51.100.9", region="us-west"),
        lambda db: networks.remove(db, "198.51.100.8/31"),
    )
    assert wrong == ["addresses of 198.51.100.8/31 are in use (1)"]
