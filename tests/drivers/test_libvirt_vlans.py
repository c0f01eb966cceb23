"""Private networks on bridges under the libvirt driver: whose tags they have, and for how long. On hosts in memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import pytest
from msgspec.structs import replace

from crofter.cli import hosts
from crofter.drivers.hypervisor import Interface
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.fake_libvirt.harness import FakeHarness
from tests.drivers.fake_libvirt.host import Connection
from tests.drivers.fake_libvirt.host import Network as FakeNetwork
from tests.drivers.harness import DriverCase, Machine

PUBLIC = Interface("public")
NO_NETWORK = "The host of this instance has no network for VLANs."
NONE_LEFT = "The hosts of this region have no VLAN left."


def bridge(harness: FakeHarness, vlans: str | None, host: int | None = None) -> None:
    """The hosts of the first region, or only one of them, have a bridge with these tags."""
    which = {"region": harness.regions[0]} if host is None else {"id": host}
    with harness.database.write() as db:
        db.update(tables.host, which, network="bridge:br0", vlans=vlans)


def on_vlans(case: DriverCase, *numbers: int, host: int | None = None) -> Machine:
    vlans = (Interface("vlan", number, f"10.0.0.{number}/24") for number in numbers)
    return case.machine(host, on=True, interfaces=(PUBLIC, *vlans))


def refused(case: DriverCase, *numbers: int) -> str:
    with pytest.raises(AssertionError) as error:
        on_vlans(case, *numbers)
    return str(error.value)


def test_a_network_has_one_tag_on_all_hosts_of_its_region(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    bridge(fake_harness, "100-199")
    here = fake_case.host()
    first, second = on_vlans(fake_case, 7, 9, host=here), on_vlans(fake_case, 9, host=fake_case.host(avoid=here))
    assert first.domain.host != second.domain.host
    assert fake_harness.domain(first.domain).tags() == ["100", "101"]
    assert fake_harness.domain(second.domain).tags() == ["101"]


def test_their_cards_are_on_a_network_that_makes_the_bridge_tell_tags_apart(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    bridge(fake_harness, "100-199")
    machine = on_vlans(fake_case, 7)
    (network,) = fake_harness.host(machine.domain.host).networks.values()
    assert network.bridge == {"name": "br0", "macTableManager": "libvirt"}
    assert network.on
    assert network.comes_on_with_its_host
    network.on = False  # simulates a restart without the bridge
    fake_case.shut_down(machine.domain)
    fake_case.boot(machine.domain)
    assert network.on


def test_a_tag_is_given_anew_only_when_no_machine_has_it(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    bridge(fake_harness, "100-101")
    first, second = on_vlans(fake_case, 7), on_vlans(fake_case, 8)
    assert NONE_LEFT in refused(fake_case, 9)
    without, order = replace(first.spec, interfaces=(PUBLIC,)), fake_case.order()
    fake_case.done(lambda: fake_case.driver.ensure_domain(first.domain, without, order))
    assert fake_harness.domain(first.domain).tags() == ["100"], "its profile has changed, and it runs with the old one"
    assert NONE_LEFT in refused(fake_case, 9)
    fake_case.shut_down(first.domain)
    assert fake_harness.domain(on_vlans(fake_case, 9).domain).tags() == ["100"]
    assert fake_harness.domain(second.domain).tags() == ["101"]


def test_a_host_without_vlans_boots_no_machine_that_has_some(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    assert NO_NETWORK in refused(fake_case, 7)
    bridge(fake_harness, None)
    assert NO_NETWORK in refused(fake_case, 7)


def test_a_machine_moves_only_where_its_tags_are(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    bridge(fake_harness, "100-199")
    machine = on_vlans(fake_case, 7)
    to = fake_case.host(avoid=machine.domain.host)
    bridge(fake_harness, "200-299", to)
    order = fake_case.order()
    ended = fake_case.finish(lambda: fake_case.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert ended.failure == "The other host does not have the VLANs of this machine."
    assert fake_harness.domain(machine.domain).tags() == ["100"]
    bridge(fake_harness, "100-199", to)
    again = fake_case.order()
    fake_case.done(lambda: fake_case.driver.ensure_moved(machine.domain, to, machine.disks, again, live=True))
    there = replace(machine.domain, host=to)
    assert fake_harness.domain(there).tags() == ["100"]


def test_two_may_need_the_network_of_a_host_for_the_first_time(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    bridge(fake_harness, "100-199")
    here = fake_harness.host(number := fake_case.host())

    def is_quicker(name: str) -> None:
        if name not in here.networks:
            here.networks[name] = FakeNetwork(f"<network><name>{name}</name><bridge name='br0'/></network>")
            here.networks[name].create()

    here.hooks["networkDefineXML"] = is_quicker
    assert fake_harness.domain(on_vlans(fake_case, 7, host=number).domain).tags() == ["100"]
    assert [network.comes_on_with_its_host for network in here.networks.values()] == [True]


def test_machines_come_on_with_their_host_also_where_the_bridge_was_late(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    bridge(fake_harness, "100-199")
    machine = on_vlans(fake_case, 7)
    number = machine.domain.host
    fake_harness.maintenance(number, begins=True)
    (network,) = fake_harness.host(number).networks.values()
    network.on = False
    fake_harness.maintenance(number, begins=False)
    assert fake_harness.domain(machine.domain).tags() == ["100"]


def test_a_machine_leaves_its_vlan_behind_where_there_is_none(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    bridge(fake_harness, "100-199")
    machine = on_vlans(fake_case, 7)
    fake_case.shut_down(machine.domain)
    to, order = fake_case.host(fake_case.other_region), fake_case.order()
    fake_case.done(lambda: fake_case.driver.ensure_moved(machine.domain, to, machine.disks, order))
    there, again = replace(machine.domain, host=to), fake_case.order()
    assert fake_case.finish(lambda: fake_case.driver.ensure_running(there, again)).failure == NO_NETWORK
    left, order = replace(machine.spec, interfaces=(PUBLIC, Interface("vlan", None, "10.0.0.7/24"))), fake_case.order()
    fake_case.done(lambda: fake_case.driver.ensure_domain(there, left, order))
    fake_case.boot(there)
    assert fake_harness.domain(there).tags() == []


def test_tags_of_machines_on_a_lost_host_are_not_given_anew(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """Keep the tags: the declaration of the loss may have been wrong."""
    bridge(fake_harness, "100-100")
    lost = on_vlans(fake_case, 7).domain.host
    fake_harness.unplug(lost)
    fake_harness.hand.declare_lost(lost)
    assert NONE_LEFT in refused(fake_case, 8)


def test_what_passes_a_vlan_is_private_and_not_paid_for(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    bridge(fake_harness, "100-199")
    machine = on_vlans(fake_case, 7)
    stats = {"net.count": 2, "net.0.rx.bytes": 10, "net.0.tx.bytes": 20, "net.1.rx.bytes": 300, "net.1.tx.bytes": 400}
    fake_harness.domain(machine.domain).stats = stats
    counted = fake_harness.hand._sampling.now(machine.domain.host, machine.domain.id)
    assert counted is not None
    assert (counted["ipv4_in"], counted["ipv4_out"]) == (10, 20)
    assert (counted["ipv4_private_in"], counted["ipv4_private_out"]) == (300, 400)


@pytest.mark.parametrize(("version", "taken"), [(10_010_000, False), (11_000_000, True)])
def test_a_host_is_added_with_vlans_only_if_its_libvirt_can_tag_ports(
    fake_case: DriverCase, fake_harness: FakeHarness, version: int, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "getLibVersion", lambda _: version)
    wanted: dict[str, Any] = dict.fromkeys(("pool", "volumes", "forward", "memory", "disk", "resolvers"))
    wanted |= {"region": "us-east", "network": "bridge:br0", "vlans": "100-199", "allow_emulation": False}
    wanted["uri"] = fake_harness.fleet.uri(fake_case.host())
    with nullcontext() if taken else pytest.raises(ValueError, match="libvirt 11"):
        assert hosts._read(cast("Any", None), wanted, 1).tags == range(100, 200)
