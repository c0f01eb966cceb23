"""The same order is the same work: repeated, at once from two threads, after a crash, and after a standstill."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Seed
from tests.at_once import at_once
from tests.drivers.bench import Yard
from tests.drivers.verbs import Ordered

Setup = Callable[[Yard], Ordered]


def each_verb_repeated_half_way_goes_on_where_it_was(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order()
    first = ordered.call(yard.driver, order)
    yard.bench.wait(first.remaining / 2)
    second = ordered.call(yard.driver, order)
    assert second.done or second.percent > first.percent, "half of the time, and no step nearer"
    assert second.remaining <= first.remaining - first.remaining / 2 + 0.01
    yard.done(lambda: ordered.call(yard.driver, order))
    assert ordered.holds()


def each_verb_repeated_when_done_changes_nothing(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order()
    yard.done(lambda: ordered.call(yard.driver, order))
    before = yard.picture()
    yard.bench.wait(1)
    again = ordered.call(yard.driver, order)
    assert again.done
    yard.bench.wait(10)
    assert yard.picture() == before
    assert ordered.holds()


def each_verb_ordered_by_two_threads_at_once_is_done_once(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order()
    drivers = [yard.bench.start(), yard.bench.start()]
    first, other = at_once(*(partial(ordered.call, driver, order) for driver in drivers))
    if yard.bench.is_exact or not (first.done or other.done):
        assert abs(first.remaining - other.remaining) <= 1
    yard.done(lambda: ordered.call(yard.driver, order))
    assert ordered.holds()


def each_verb_is_finished_by_a_driver_that_did_not_begin_it(yard: Yard, verb: Setup) -> None:
    ordered, order = verb(yard), yard.order()
    begun = ordered.call(yard.bench.start(), order)
    yard.bench.wait(begun.remaining / 2)
    half = ordered.call(yard.bench.start(), replace(order, fence=2))
    assert half.done or half.percent > begun.percent, "after the crash it began again"
    if yard.bench.is_exact:
        yard.bench.wait(half.remaining + 0.001)
        assert ordered.call(yard.bench.start(), replace(order, fence=3)).done
    yard.done(lambda: ordered.call(yard.bench.start(), replace(order, fence=3)))
    before = yard.picture()
    assert ordered.call(yard.bench.start(), replace(order, fence=4)).done
    assert yard.picture() == before
    assert ordered.holds()


def each_verb_is_taken_over_from_a_process_that_stands_still_and_goes_on_too_late(yard: Yard, verb: Setup) -> None:
    """At its first look it has done nothing yet, and at its second one a part of the work, or all of it."""
    for check in (1, 2):
        ordered, order = verb(yard), yard.order()
        late = yard.bench.start()
        with yard.bench.stalled(late, check):
            ordered.call(late, order)
            yard.done(lambda: ordered.call(yard.driver, replace(order, fence=2)))  # noqa: B023
            before = yard.picture()
        assert ordered.call(yard.driver, replace(order, fence=2)).done
        assert yard.picture() == before
        assert ordered.holds()


def each_verb_ordered_anew_by_a_later_operation_still_holds(yard: Yard, verb: Setup) -> None:
    ordered, order, later = verb(yard), yard.order(), yard.order()
    yard.done(lambda: ordered.call(yard.driver, order))
    yard.done(lambda: ordered.call(yard.driver, later))
    assert ordered.holds()


def a_boot_that_was_done_does_not_boot_a_guest_that_went_off_since(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order()
    yard.done(lambda: yard.driver.ensure_running(machine.domain, order))
    yard.bench.shut_down_inside(machine.domain)
    assert yard.driver.ensure_running(machine.domain, order).done
    yard.bench.wait(30)
    assert yard.power(machine.domain) == "off"
    yard.boot(machine.domain)
    assert yard.power(machine.domain) == "on"


def work_on_what_the_same_operation_is_still_making_waits_for_it(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order("size")
    if yard.driver.ensure_size(machine.root, 6000, order).done:
        return
    seed, boot = replace(order, step="seed"), replace(order, step="boot")
    written = Seed(password="a-long-pass-phrase")
    before = yard.bench.content(machine.root)
    for early in (
        yard.driver.ensure_seed(machine.root, written, seed),
        yard.driver.ensure_running(machine.domain, boot),
    ):
        assert not early.done
        assert early.remaining > 0
    yard.done(lambda: yard.driver.ensure_seed(machine.root, written, seed))
    assert yard.driver.observe(machine.root).size == 6000
    assert yard.bench.content(machine.root) != before
    yard.done(lambda: yard.driver.ensure_running(machine.domain, boot))


def one_step_may_order_two_things_and_two_verbs(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order("deploy")
    for ref in (DiskRef(machine.domain.host, yard.number()), DiskRef(machine.domain.host, yard.number())):
        yard.done(lambda ref=ref: yard.driver.ensure_disk(ref, DiskSpec(100), Empty(), order))  # type: ignore[misc]
        assert yard.driver.observe(ref).presence == "ready"
        yard.done(lambda ref=ref: yard.driver.ensure_size(ref, 200, order))  # type: ignore[misc]
        assert yard.driver.observe(ref).size == 200
