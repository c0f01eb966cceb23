"""A worker that has lost its operation is refused, and touches nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Network, Refused, Stale
from tests.drivers.bench import Yard
from tests.drivers.verbs import Ordered

Setup = Callable[[Yard], Ordered]


def each_verb_refuses_an_older_fence(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order(fence=5)
    ordered.call(yard.driver, order)
    with pytest.raises(Stale):
        ordered.call(yard.driver, replace(order, fence=4))
    yard.done(lambda: ordered.call(yard.driver, replace(order, fence=6)))
    with pytest.raises(Stale):
        ordered.call(yard.bench.start(), order)
    assert ordered.holds()


def each_verb_refuses_an_older_fence_in_a_new_step(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order(fence=5)
    yard.done(lambda: ordered.call(yard.driver, order))
    before = yard.picture()
    with pytest.raises(Stale):
        ordered.call(yard.driver, replace(order, step="next", fence=4))
    assert yard.picture() == before


def each_verb_refuses_an_operation_that_was_followed(yard: Yard, verb: Setup) -> None:
    ordered, order, later = verb(yard), yard.order(fence=9), yard.order()
    yard.done(lambda: ordered.call(yard.driver, order))
    yard.done(lambda: ordered.call(yard.driver, later))
    before = yard.picture()
    for stale in (order, replace(order, step="next"), replace(order, fence=10)):
        with pytest.raises(Stale):
            ordered.call(yard.driver, stale)
    yard.bench.wait(10)
    assert yard.picture() == before


def the_fences_of_two_operations_do_not_compare(yard: Yard) -> None:
    machine, busy, fresh = yard.machine(), yard.order(fence=40), yard.order(fence=1)
    yard.done(lambda: yard.driver.ensure_running(machine.domain, busy))
    yard.done(lambda: yard.driver.ensure_off(machine.domain, fresh))
    assert yard.power(machine.domain) == "off"


def a_late_boot_does_not_switch_on_what_was_shut_down_since(yard: Yard) -> None:
    machine, boot = yard.machine(), yard.order("boot")
    yard.driver.ensure_running(machine.domain, boot)
    yard.shut_down(machine.domain)
    with pytest.raises(Stale):
        yard.driver.ensure_running(machine.domain, boot)
    yard.bench.wait(60)
    assert yard.power(machine.domain) == "off"


def a_late_creation_brings_nothing_back(yard: Yard) -> None:
    ref, late = DiskRef(yard.host(), yard.number()), yard.order()
    yard.remove(ref)
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(100), Empty(), late)
    kept = yard.empty_disk(ref.host)
    yard.remove(kept)
    with pytest.raises(Refused):
        yard.driver.ensure_disk(kept, DiskSpec(512), Empty(), late)
    yard.bench.wait(10)
    assert yard.driver.observe(ref).presence == yard.driver.observe(kept).presence == "absent"


def a_firewall_may_change_while_its_machine_is_worked_on(yard: Yard) -> None:
    machine, boot, firewall = yard.machine(), yard.order("boot"), yard.order("filter", action="firewall_update")
    yard.driver.ensure_running(machine.domain, boot)
    yard.done(lambda: yard.driver.ensure_network(machine.domain, Network(), firewall))
    yard.done(lambda: yard.driver.ensure_running(machine.domain, boot))
    assert yard.power(machine.domain) == "on"


def a_firewall_may_change_while_its_machine_moves(yard: Yard) -> None:
    machine, move, firewall = yard.machine(), yard.order("move"), yard.order("filter", action="firewall_update")
    to = yard.host(yard.other_region)
    first = yard.order("filter")
    yard.done(lambda: yard.driver.ensure_network(machine.domain, Network(), first))
    yard.driver.ensure_moved(machine.domain, to, machine.disks, move)
    yard.done(lambda: yard.driver.ensure_network(machine.domain, Network(), firewall))
    yard.done(lambda: yard.driver.ensure_moved(machine.domain, to, machine.disks, move))
    moved, after = replace(machine.domain, host=to), yard.order("filter")
    yard.bench.unplug(machine.domain.host)
    yard.done(lambda: yard.driver.ensure_network(moved, Network(), after))


def an_older_network_never_replaces_a_newer_one(yard: Yard) -> None:
    machine, late, later = yard.machine(), yard.order("filter"), yard.order("filter")
    yard.driver.ensure_network(machine.domain, Network(generation=7), later)
    with pytest.raises(Stale):
        yard.driver.ensure_network(machine.domain, Network(generation=6), late)
    yard.bench.wait(10)
    with pytest.raises(Stale):
        yard.driver.ensure_network(machine.domain, Network(generation=6), late)
    again = yard.order("filter")
    yard.done(lambda: yard.driver.ensure_network(machine.domain, Network(generation=7), again))


def a_deletion_ends_what_was_under_way(yard: Yard) -> None:
    machine, boot = yard.machine(), yard.order("boot")
    yard.driver.ensure_running(machine.domain, boot)
    yard.remove(machine.domain)
    for ref in machine.disks:
        yard.remove(ref)
    yard.bench.wait(60)
    assert yard.power(machine.domain) == "absent"
    assert yard.driver.list(machine.domain.host).disks == ()
