"""A worker that has lost its operation is refused, and touches nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Network, Refused, Stale
from tests.drivers.harness import DriverCase
from tests.drivers.verbs import Ordered

Setup = Callable[[DriverCase], Ordered]


def each_verb_refuses_an_older_fence(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order(fence=5)
    ordered.call(case.driver, order)
    with pytest.raises(Stale):
        ordered.call(case.driver, replace(order, fence=4))
    case.done(lambda: ordered.call(case.driver, replace(order, fence=6)))
    with pytest.raises(Stale):
        ordered.call(case.harness.start(), order)
    assert ordered.holds()


def each_verb_refuses_an_older_fence_in_a_new_step(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order(fence=5)
    case.done(lambda: ordered.call(case.driver, order))
    before = case.picture()
    with pytest.raises(Stale):
        ordered.call(case.driver, replace(order, step="next", fence=4))
    assert case.picture() == before


def each_verb_refuses_an_operation_that_was_followed(case: DriverCase, verb: Setup) -> None:
    ordered, order, later = verb(case), case.order(fence=9), case.order()
    case.done(lambda: ordered.call(case.driver, order))
    case.done(lambda: ordered.call(case.driver, later))
    before = case.picture()
    for stale in (order, replace(order, step="next"), replace(order, fence=10)):
        with pytest.raises(Stale):
            ordered.call(case.driver, stale)
    case.harness.wait(10)
    assert case.picture() == before


def the_fences_of_two_operations_do_not_compare(case: DriverCase) -> None:
    machine, busy, fresh = case.machine(), case.order(fence=40), case.order(fence=1)
    case.done(lambda: case.driver.ensure_running(machine.domain, busy))
    case.done(lambda: case.driver.ensure_off(machine.domain, fresh))
    assert case.power(machine.domain) == "off"


def a_late_boot_does_not_switch_on_what_was_shut_down_since(case: DriverCase) -> None:
    machine, boot = case.machine(), case.order("boot")
    case.driver.ensure_running(machine.domain, boot)
    case.shut_down(machine.domain)
    with pytest.raises(Stale):
        case.driver.ensure_running(machine.domain, boot)
    case.harness.wait(60)
    assert case.power(machine.domain) == "off"


def a_late_creation_brings_nothing_back(case: DriverCase) -> None:
    ref, late = DiskRef(case.host(), case.number()), case.order()
    case.remove(ref)
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(100), Empty(), late)
    kept = case.empty_disk(ref.host)
    case.remove(kept)
    with pytest.raises(Refused):
        case.driver.ensure_disk(kept, DiskSpec(512), Empty(), late)
    case.harness.wait(10)
    assert case.driver.observe(ref).presence == case.driver.observe(kept).presence == "absent"


def a_firewall_may_change_while_its_machine_is_worked_on(case: DriverCase) -> None:
    machine, boot, firewall = case.machine(), case.order("boot"), case.order("filter", action="firewall_update")
    case.driver.ensure_running(machine.domain, boot)
    case.done(lambda: case.driver.ensure_network(machine.domain, Network(), firewall))
    case.done(lambda: case.driver.ensure_running(machine.domain, boot))
    assert case.power(machine.domain) == "on"


def a_firewall_may_change_while_its_machine_moves(case: DriverCase) -> None:
    machine, move, firewall = case.machine(), case.order("move"), case.order("filter", action="firewall_update")
    to = case.host(case.other_region)
    first = case.order("filter")
    case.done(lambda: case.driver.ensure_network(machine.domain, Network(), first))
    case.driver.ensure_moved(machine.domain, to, machine.disks, move)
    case.done(lambda: case.driver.ensure_network(machine.domain, Network(), firewall))
    case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, move))
    moved, after = replace(machine.domain, host=to), case.order("filter")
    case.harness.unplug(machine.domain.host)
    case.done(lambda: case.driver.ensure_network(moved, Network(), after))


def an_older_network_never_replaces_a_newer_one(case: DriverCase) -> None:
    machine, late, later = case.machine(), case.order("filter"), case.order("filter")
    case.driver.ensure_network(machine.domain, Network(generation=7), later)
    with pytest.raises(Stale):
        case.driver.ensure_network(machine.domain, Network(generation=6), late)
    case.harness.wait(10)
    with pytest.raises(Stale):
        case.driver.ensure_network(machine.domain, Network(generation=6), late)
    again = case.order("filter")
    case.done(lambda: case.driver.ensure_network(machine.domain, Network(generation=7), again))


def a_deletion_ends_what_was_under_way(case: DriverCase) -> None:
    machine, boot = case.machine(), case.order("boot")
    case.driver.ensure_running(machine.domain, boot)
    case.remove(machine.domain)
    for ref in machine.disks:
        case.remove(ref)
    case.harness.wait(60)
    assert case.power(machine.domain) == "absent"
    assert case.driver.list(machine.domain.host).disks == ()
