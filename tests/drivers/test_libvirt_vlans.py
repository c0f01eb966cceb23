"""Private networks on bridges under the libvirt driver: whose tags they have, and for how long. On hosts in memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import pytest
from msgspec.structs import replace

from crofter.cli import hosts
from crofter.drivers.hypervisor import Interface
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.bench import Machine, Yard
from tests.drivers.fake_libvirt.bench import FakeBench
from tests.drivers.fake_libvirt.host import Connection
from tests.drivers.fake_libvirt.host import Network as FakeNetwork

PUBLIC = Interface("public")
NO_NETWORK = "The host of this instance has no network for VLANs."
NONE_LEFT = "The hosts of this region have no VLAN left."


def bridge(bench: FakeBench, vlans: str | None, host: int | None = None) -> None:
    """The hosts of the first region, or only one of them, have a bridge with these tags."""
    which = {"region": bench.regions[0]} if host is None else {"id": host}
    with bench.database.write() as db:
        db.update(tables.host, which, network="bridge:br0", vlans=vlans)


def on_vlans(yard: Yard, *numbers: int, host: int | None = None) -> Machine:
    vlans = (Interface("vlan", number, f"10.0.0.{number}/24") for number in numbers)
    return yard.machine(host, on=True, interfaces=(PUBLIC, *vlans))


def refused(yard: Yard, *numbers: int) -> str:
    with pytest.raises(AssertionError) as told:
        on_vlans(yard, *numbers)
    return str(told.value)


def test_a_network_has_one_tag_on_all_hosts_of_its_region(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-199")
    here = fake_yard.host()
    first, second = on_vlans(fake_yard, 7, 9, host=here), on_vlans(fake_yard, 9, host=fake_yard.host(avoid=here))
    assert first.domain.host != second.domain.host
    assert fake_bench.domain(first.domain).tags() == ["100", "101"]
    assert fake_bench.domain(second.domain).tags() == ["101"]


def test_their_cards_are_on_a_network_that_makes_the_bridge_tell_tags_apart(
    fake_yard: Yard, fake_bench: FakeBench
) -> None:
    bridge(fake_bench, "100-199")
    machine = on_vlans(fake_yard, 7)
    (network,) = fake_bench.host(machine.domain.host).networks.values()
    assert network.bridge == {"name": "br0", "macTableManager": "libvirt"}
    assert network.on
    assert network.comes_on_with_its_host
    network.on = False  # as after a restart at which it found no bridge
    fake_yard.shut_down(machine.domain)
    fake_yard.boot(machine.domain)
    assert network.on


def test_a_tag_is_given_anew_only_when_no_machine_has_it(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-101")
    first, second = on_vlans(fake_yard, 7), on_vlans(fake_yard, 8)
    assert NONE_LEFT in refused(fake_yard, 9)
    without, order = replace(first.spec, interfaces=(PUBLIC,)), fake_yard.order()
    fake_yard.done(lambda: fake_yard.driver.ensure_domain(first.domain, without, order))
    assert fake_bench.domain(first.domain).tags() == ["100"], "its profile has changed, and it runs with the old one"
    assert NONE_LEFT in refused(fake_yard, 9)
    fake_yard.shut_down(first.domain)
    assert fake_bench.domain(on_vlans(fake_yard, 9).domain).tags() == ["100"]
    assert fake_bench.domain(second.domain).tags() == ["101"]


def test_a_host_without_vlans_boots_no_machine_that_has_some(fake_yard: Yard, fake_bench: FakeBench) -> None:
    assert NO_NETWORK in refused(fake_yard, 7)
    bridge(fake_bench, None)
    assert NO_NETWORK in refused(fake_yard, 7)


def test_a_machine_moves_only_where_its_tags_are(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-199")
    machine = on_vlans(fake_yard, 7)
    to = fake_yard.host(avoid=machine.domain.host)
    bridge(fake_bench, "200-299", to)
    order = fake_yard.order()
    ended = fake_yard.finish(lambda: fake_yard.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert ended.failure == "The other host does not have the VLANs of this machine."
    assert fake_bench.domain(machine.domain).tags() == ["100"]
    bridge(fake_bench, "100-199", to)
    again = fake_yard.order()
    fake_yard.done(lambda: fake_yard.driver.ensure_moved(machine.domain, to, machine.disks, again, live=True))
    there = replace(machine.domain, host=to)
    assert fake_bench.domain(there).tags() == ["100"]


def test_two_may_need_the_network_of_a_host_for_the_first_time(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-199")
    here = fake_bench.host(number := fake_yard.host())

    def is_quicker(name: str) -> None:
        if name not in here.networks:
            here.networks[name] = FakeNetwork(f"<network><name>{name}</name><bridge name='br0'/></network>")
            here.networks[name].create()

    here.hooks["networkDefineXML"] = is_quicker
    assert fake_bench.domain(on_vlans(fake_yard, 7, host=number).domain).tags() == ["100"]
    assert [network.comes_on_with_its_host for network in here.networks.values()] == [True]


def test_machines_come_on_with_their_host_also_where_the_bridge_was_late(
    fake_yard: Yard, fake_bench: FakeBench
) -> None:
    bridge(fake_bench, "100-199")
    machine = on_vlans(fake_yard, 7)
    number = machine.domain.host
    fake_bench.maintenance(number, begins=True)
    (network,) = fake_bench.host(number).networks.values()
    network.on = False
    fake_bench.maintenance(number, begins=False)
    assert fake_bench.domain(machine.domain).tags() == ["100"]


def test_a_machine_leaves_its_vlan_behind_where_there_is_none(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-199")
    machine = on_vlans(fake_yard, 7)
    fake_yard.shut_down(machine.domain)
    to, order = fake_yard.host(fake_yard.other_region), fake_yard.order()
    fake_yard.done(lambda: fake_yard.driver.ensure_moved(machine.domain, to, machine.disks, order))
    there, again = replace(machine.domain, host=to), fake_yard.order()
    assert fake_yard.finish(lambda: fake_yard.driver.ensure_running(there, again)).failure == NO_NETWORK
    left, order = replace(machine.spec, interfaces=(PUBLIC, Interface("vlan", None, "10.0.0.7/24"))), fake_yard.order()
    fake_yard.done(lambda: fake_yard.driver.ensure_domain(there, left, order))
    fake_yard.boot(there)
    assert fake_bench.domain(there).tags() == []


def test_tags_of_machines_on_a_lost_host_are_not_given_anew(fake_yard: Yard, fake_bench: FakeBench) -> None:
    """Whoever declared it lost may have been wrong."""
    bridge(fake_bench, "100-100")
    lost = on_vlans(fake_yard, 7).domain.host
    fake_bench.unplug(lost)
    fake_bench.hand.declare_lost(lost)
    assert NONE_LEFT in refused(fake_yard, 8)


def test_what_passes_a_vlan_is_private_and_not_paid_for(fake_yard: Yard, fake_bench: FakeBench) -> None:
    bridge(fake_bench, "100-199")
    machine = on_vlans(fake_yard, 7)
    stats = {"net.count": 2, "net.0.rx.bytes": 10, "net.0.tx.bytes": 20, "net.1.rx.bytes": 300, "net.1.tx.bytes": 400}
    fake_bench.domain(machine.domain).stats = stats
    counted = fake_bench.hand._sampling.now(machine.domain.host, machine.domain.id)
    assert counted is not None
    assert (counted["ipv4_in"], counted["ipv4_out"]) == (10, 20)
    assert (counted["ipv4_private_in"], counted["ipv4_private_out"]) == (300, 400)


@pytest.mark.parametrize(("version", "taken"), [(10_010_000, False), (11_000_000, True)])
def test_a_host_is_added_with_vlans_only_if_its_libvirt_can_tag_ports(
    fake_yard: Yard, fake_bench: FakeBench, version: int, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "getLibVersion", lambda _: version)
    wanted: dict[str, Any] = dict.fromkeys(("pool", "volumes", "forward", "memory", "disk", "resolvers"))
    wanted |= {"region": "us-east", "network": "bridge:br0", "vlans": "100-199", "allow_emulation": False}
    wanted["uri"] = fake_bench.world.uri(fake_yard.host())
    with nullcontext() if taken else pytest.raises(ValueError, match="libvirt 11"):
        assert hosts._read(cast("Any", None), wanted, 1).tags == range(100, 200)
