"""Regions whose public addresses are of an operator's own networks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from httpx2 import Client

from crofter.db import Database, Session
from crofter.errors import Invalid
from crofter.resources.instances.ips import networks
from crofter.resources.instances.ips.blocks import address_block, released_address
from tests.cloud import Cloud
from tests.resources.compute import create, refused

URL = "/v4/compute/instances"
NANODE = {"type": "g6-nanode-1", "region": "eu-west"}


def add(cloud: Cloud, network: str, region: str = "eu-west") -> None:
    with cloud.runtime.database.write() as db:
        networks.add(db, region, network)


def listed(cloud: Cloud) -> list[tuple[str, str, int]]:
    with cloud.runtime.database.read() as db:
        return [(row.network, row.region, networks.free(db, row)) for row in networks.all_of(db)]


@pytest.mark.both
def test_a_region_draws_from_its_own_networks_alone_and_in_order(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    add(cloud, "203.0.113.0/30")
    add(cloud, "198.51.100.8/31")
    made = [create(alice, region="eu-west") for _ in range(4)]
    drawn = [instance["ipv4"][0] for instance in made]
    assert sorted(drawn) == ["198.51.100.8", "198.51.100.9", "203.0.113.2", "203.0.113.3"]
    refused(alice.post(URL, json=NANODE), "No addresses are left in this region.")
    shown = alice.get(f"{URL}/{made[drawn.index('203.0.113.2')]['id']}/ips").json()["ipv4"]["public"][0]
    assert (shown["gateway"], shown["prefix"]) == ("203.0.113.1", 24)
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
    assert listed(cloud) == [("203.0.113.0/25", "eu-west", 125)]


def test_a_region_has_the_built_in_addresses_again_when_its_last_network_is_gone(cloud: Cloud, alice: Client) -> None:
    add(cloud, "203.0.113.0/24")
    with cloud.runtime.database.write() as db:
        networks.remove(db, "203.0.113.0/24")
    assert create(alice, region="eu-west")["ipv4"][0].startswith("100.64.")
    with pytest.raises(Invalid, match=r"built-in addresses of eu-west are in use \(1\)"):
        add(cloud, "203.0.113.0/24")


def _meanwhile(database: Database, first: Callable[[Session], object], then: Callable[[Session], object]) -> list[str]:
    """What is wrong with ``then``, which begins while the transaction of ``first`` is open, and has to wait for it."""
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
    """Of the built-in ones when a region gets its first network, and of a network that is taken back."""
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
