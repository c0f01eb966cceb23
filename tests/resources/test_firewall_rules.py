"""Firewall rules on simulated hosts, under all changes of firewalls and instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client

from crofter.drivers.hypervisor import Network, Rule
from crofter.drivers.hypervisor.ledger.entries import Wiring
from crofter.engine import Sleep
from crofter.resources.firewalls import operations
from crofter.resources.firewalls.operations import apply_some
from crofter.resources.instances.ips.rules import rewire
from tests.cloud import Cloud
from tests.resources.test_firewalls import PATH, POLICIES, WEB, make
from tests.sweep import NEW, PASSWORD, instead, planted

CLOSED = (Rule("inbound", "DROP"), Rule("outbound", "ACCEPT"))
NETWORKS = ("0.0.0.0/0", "::/0")


def machine(cloud: Cloud, client: Client) -> int:
    answer = client.post("/v4/compute/instances", json=NEW)
    assert answer.status_code == 200, answer.text
    cloud.settle()
    return int(answer.json()["id"])


def network(cloud: Cloud, instance_id: int) -> Network:
    """Return the filter rules of a machine on its host."""
    hypervisor: Any = cloud.runtime.hypervisor
    with hypervisor._transactions.reading() as ledger:
        entry = ledger.find(Wiring, instance_id)
        assert entry is not None
        assert entry.doc is not None
        return entry.doc.network  # type: ignore[no-any-return]


def filter_of(cloud: Cloud, instance_id: int) -> tuple[Rule, ...]:
    return network(cloud, instance_id).rules


def test_a_machine_that_is_created_behind_a_firewall_never_runs_without(cloud: Cloud, alice: Client) -> None:
    number = make(alice)["id"]
    own = alice.post("/v4/compute/instances", json={**NEW, "firewall_id": number}).json()["id"]
    cloud.settle()
    assert filter_of(cloud, own) == CLOSED


@pytest.mark.both
def test_every_change_reaches_the_machine(cloud: Cloud, alice: Client) -> None:
    own = machine(cloud, alice)
    assert filter_of(cloud, own) == ()
    number = make(alice, computes=(own,))["id"]
    cloud.settle()
    assert filter_of(cloud, own) == CLOSED
    rule = {**WEB, "addresses": {"ipv4": ["192.0.2.5/24"], "ipv6": ["2001:DB8::1/32"]}}
    alice.put(f"{PATH}/{number}/rules", json={"inbound": [rule]})
    cloud.settle()
    web = Rule("inbound", "ACCEPT", "TCP", "22,8000-9000", ("192.0.2.0/24", "2001:db8::/32"))
    assert filter_of(cloud, own) == (web, *CLOSED)
    every_port = {"protocol": "UDP", "addresses": {"ipv6": ["::/0"]}, "action": "ACCEPT"}
    alice.put(f"{PATH}/{number}/rules", json={"inbound": [every_port]})
    cloud.settle()
    assert filter_of(cloud, own) == (Rule("inbound", "ACCEPT", "UDP", "", ("::/0",)), *CLOSED)
    alice.put(f"{PATH}/{number}/rules", json={"inbound": [rule]})
    alice.put(f"{PATH}/{number}", json={"status": "disabled"})
    cloud.settle()
    assert filter_of(cloud, own) == ()
    alice.put(f"{PATH}/{number}", json={"status": "enabled"})
    cloud.settle()
    assert filter_of(cloud, own) == (web, *CLOSED)
    device = alice.get(f"{PATH}/{number}/devices").json()["data"][0]["id"]
    alice.delete(f"{PATH}/{number}/devices/{device}")
    cloud.settle()
    assert filter_of(cloud, own) == ()
    alice.post(f"{PATH}/{number}/devices", json={"id": own, "type": "compute"})
    cloud.settle()
    assert filter_of(cloud, own) == (web, *CLOSED)
    assert len(network(cloud, own).addresses) == 2
    alice.delete(f"{PATH}/{number}")
    cloud.settle()
    assert filter_of(cloud, own) == ()


def test_an_instance_is_never_busy_with_its_firewall(cloud: Cloud, alice: Client) -> None:
    own = machine(cloud, alice)
    make(alice, computes=(own,))
    assert alice.post(f"/v4/compute/instances/{own}/reboot").status_code == 200
    cloud.settle()
    assert filter_of(cloud, own) == CLOSED


LIVES: dict[str, Callable[[Client, int], Any]] = {
    "rebuild": lambda client, own: client.post(
        f"/v4/compute/instances/{own}/rebuild", json={"image": "compute/debian11", "root_pass": PASSWORD}
    ),
    "migrate": lambda client, own: client.post(f"/v4/compute/instances/{own}/migrate", json={"region": "us-west"}),
    "resize": lambda client, own: client.post(f"/v4/compute/instances/{own}/resize", json={"type": "g6-standard-2"}),
    "rescue": lambda client, own: client.post(f"/v4/compute/instances/{own}/rescue", json={}),
}


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("changed", [False, True])
def test_a_machine_keeps_its_rules(cloud: Cloud, alice: Client, life: str, *, changed: bool) -> None:
    own = machine(cloud, alice)
    number = make(alice, computes=(own,))["id"]
    cloud.settle()
    assert LIVES[life](alice, own).status_code == 200
    if changed:
        alice.put(f"{PATH}/{number}/rules", json={"inbound_policy": "ACCEPT"})
    cloud.settle()
    assert filter_of(cloud, own) == ((Rule("inbound", "ACCEPT"), CLOSED[1]) if changed else CLOSED)


def test_a_machine_that_is_made_later_has_them_from_the_start(cloud: Cloud, alice: Client) -> None:
    own = int(alice.post("/v4/compute/instances", json=NEW).json()["id"])
    make(alice, computes=(own,))
    cloud.settle()
    assert filter_of(cloud, own) == CLOSED


@pytest.mark.parametrize("how", ["crash", "crashes", "fail"])
@pytest.mark.both
def test_a_worker_that_dies_loses_no_rules(cloud: Cloud, alice: Client, how: str) -> None:
    own = machine(cloud, alice)
    with planted(cloud, "compute_rewire", rewire, how) as plant:
        make(alice, computes=(own,))
        cloud.settle()
        cloud.advance(120)
        assert plant.fired
    cloud.settle()
    assert filter_of(cloud, own) == CLOSED


@pytest.mark.parametrize("how", ["crash", "crashes"])
def test_many_machines_are_told_in_pieces(cloud: Cloud, alice: Client, how: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(operations, "AT_ONCE", 1)
    monkeypatch.setattr(operations, "TOGETHER", 2)
    own = [machine(cloud, alice) for _ in range(3)]
    with planted(cloud, "firewall_apply", apply_some, how) as plant:
        number = make(alice, computes=tuple(own))["id"]
        cloud.settle()
        assert plant.fired
    assert [filter_of(cloud, instance_id) for instance_id in own] == [CLOSED] * 3
    alice.put(f"{PATH}/{number}/rules", json={"inbound_policy": "ACCEPT"})
    alice.delete(f"{PATH}/{number}")
    cloud.settle()
    assert [filter_of(cloud, instance_id) for instance_id in own] == [()] * 3


def test_an_older_change_that_comes_late_changes_nothing(cloud: Cloud, alice: Client) -> None:
    own = machine(cloud, alice)
    number = make(alice, computes=(own,))["id"]
    cloud.settle()
    held: list[Any] = []

    def first_waits(work: Any) -> Any:
        if not held:
            held.append(work.id)
        if held[0] == work.id and len(held) == 1:
            held.append("once")
            return Sleep(60)
        return rewire.run(work)

    with instead(cloud, "compute_rewire", rewire, first_waits):
        alice.put(f"{PATH}/{number}/rules", json={"inbound_policy": "ACCEPT"})
        alice.put(f"{PATH}/{number}/rules", json={"inbound": [WEB]})
        cloud.settle()
        cloud.advance(90)
    assert [rule.action for rule in filter_of(cloud, own)] == ["ACCEPT", "ACCEPT", "ACCEPT"]


def test_a_host_that_is_away_hears_of_it_later(cloud: Cloud, alice: Client) -> None:
    own = machine(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    alice.post(PATH, json={"label": "wall", "rules": POLICIES, "devices": {"computes": [own]}})
    cloud.advance(5)
    assert filter_of(cloud, own) == ()
    cloud.fault("region_back", region="us-east")
    cloud.advance(3600)
    assert filter_of(cloud, own) == CLOSED
