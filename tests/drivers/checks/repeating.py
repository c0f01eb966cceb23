"""The same order is the same work: repeated, at once from two threads, after a crash, and after a standstill."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Seed
from tests.at_once import at_once
from tests.drivers.harness import DriverCase
from tests.drivers.verbs import Ordered

Setup = Callable[[DriverCase], Ordered]


def each_verb_repeated_half_way_goes_on_where_it_was(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order()
    first = ordered.call(case.driver, order)
    case.harness.wait(first.remaining / 2)
    second = ordered.call(case.driver, order)
    assert second.done or second.percent > first.percent, "half of the time, and no step nearer"
    assert second.remaining <= first.remaining - first.remaining / 2 + 0.01
    case.done(lambda: ordered.call(case.driver, order))
    assert ordered.holds()


def each_verb_repeated_when_done_changes_nothing(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order()
    case.done(lambda: ordered.call(case.driver, order))
    before = case.picture()
    case.harness.wait(1)
    again = ordered.call(case.driver, order)
    assert again.done
    case.harness.wait(10)
    assert case.picture() == before
    assert ordered.holds()


def each_verb_ordered_by_two_threads_at_once_is_done_once(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order()
    drivers = [case.harness.start(), case.harness.start()]
    first, other = at_once(*(partial(ordered.call, driver, order) for driver in drivers))
    if case.harness.is_exact or not (first.done or other.done):
        assert abs(first.remaining - other.remaining) <= 1
    case.done(lambda: ordered.call(case.driver, order))
    assert ordered.holds()


def each_verb_is_finished_by_a_driver_that_did_not_begin_it(case: DriverCase, verb: Setup) -> None:
    ordered, order = verb(case), case.order()
    begun = ordered.call(case.harness.start(), order)
    case.harness.wait(begun.remaining / 2)
    half = ordered.call(case.harness.start(), replace(order, fence=2))
    assert half.done or half.percent > begun.percent, "after the crash it began again"
    if case.harness.is_exact:
        case.harness.wait(half.remaining + 0.001)
        assert ordered.call(case.harness.start(), replace(order, fence=3)).done
    case.done(lambda: ordered.call(case.harness.start(), replace(order, fence=3)))
    before = case.picture()
    assert ordered.call(case.harness.start(), replace(order, fence=4)).done
    assert case.picture() == before
    assert ordered.holds()


def each_verb_is_taken_over_from_a_process_that_stands_still_and_goes_on_too_late(
    case: DriverCase, verb: Setup
) -> None:
    """At its first look it has done nothing yet, and at its second one a part of the work, or all of it."""
    for check in (1, 2):
        ordered, order = verb(case), case.order()
        late = case.harness.start()
        with case.harness.stalled(late, check):
            ordered.call(late, order)
            case.done(lambda: ordered.call(case.driver, replace(order, fence=2)))  # noqa: B023
            before = case.picture()
        assert ordered.call(case.driver, replace(order, fence=2)).done
        assert case.picture() == before
        assert ordered.holds()


def each_verb_ordered_anew_by_a_later_operation_still_holds(case: DriverCase, verb: Setup) -> None:
    ordered, order, later = verb(case), case.order(), case.order()
    case.done(lambda: ordered.call(case.driver, order))
    case.done(lambda: ordered.call(case.driver, later))
    assert ordered.holds()


def a_boot_that_was_done_does_not_boot_a_guest_that_went_off_since(case: DriverCase) -> None:
    machine, order = case.machine(), case.order()
    case.done(lambda: case.driver.ensure_running(machine.domain, order))
    case.harness.shut_down_inside(machine.domain)
    assert case.driver.ensure_running(machine.domain, order).done
    case.harness.wait(30)
    assert case.power(machine.domain) == "off"
    case.boot(machine.domain)
    assert case.power(machine.domain) == "on"


def work_on_what_the_same_operation_is_still_making_waits_for_it(case: DriverCase) -> None:
    machine, order = case.machine(), case.order("size")
    if case.driver.ensure_size(machine.root, 6000, order).done:
        return
    seed, boot = replace(order, step="seed"), replace(order, step="boot")
    written = Seed(password="a-long-pass-phrase")
    before = case.harness.content(machine.root)
    for early in (
        case.driver.ensure_seed(machine.root, written, seed),
        case.driver.ensure_running(machine.domain, boot),
    ):
        assert not early.done
        assert early.remaining > 0
    case.done(lambda: case.driver.ensure_seed(machine.root, written, seed))
    assert case.driver.observe(machine.root).size == 6000
    assert case.harness.content(machine.root) != before
    case.done(lambda: case.driver.ensure_running(machine.domain, boot))


def one_step_may_order_two_things_and_two_verbs(case: DriverCase) -> None:
    machine, order = case.machine(), case.order("deploy")
    for ref in (DiskRef(machine.domain.host, case.number()), DiskRef(machine.domain.host, case.number())):
        case.done(lambda ref=ref: case.driver.ensure_disk(ref, DiskSpec(100), Empty(), order))  # type: ignore[misc]
        assert case.driver.observe(ref).presence == "ready"
        case.done(lambda ref=ref: case.driver.ensure_size(ref, 200, order))  # type: ignore[misc]
        assert case.driver.observe(ref).size == 200
