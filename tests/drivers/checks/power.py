"""Machines go on and off, by order and by themselves; a host that does not answer says nothing about them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import Absent, Change, DomainRef, DomainSpec, Refused, Unreachable
from tests.drivers.harness import DriverCase


def a_machine_is_absent_then_off_then_on_then_off(case: DriverCase) -> None:
    assert case.power(DomainRef(case.host(), case.number())) == "absent"
    machine = case.machine()
    assert case.power(machine.domain) == "off"
    case.boot(machine.domain)
    seen = case.driver.observe(machine.domain)
    assert (seen.power, seen.reason, seen.active) == ("on", None, machine.spec)
    case.shut_down(machine.domain)
    seen = case.driver.observe(machine.domain)
    assert (seen.power, seen.reason, seen.active) == ("off", "ours", None)


def what_is_not_there_cannot_be_switched(case: DriverCase) -> None:
    ref = DomainRef(case.host(), case.number())
    with pytest.raises(Absent):
        case.driver.ensure_running(ref, case.order())
    with pytest.raises(Absent):
        case.driver.ensure_off(ref, case.order())


def a_machine_without_a_device_does_not_boot(case: DriverCase) -> None:
    ref, order = DomainRef(case.host(), case.number()), case.order()
    case.done(lambda: case.driver.ensure_domain(ref, DomainSpec(1, 1024), order))
    with pytest.raises(Refused):
        case.driver.ensure_running(ref, case.order())


def a_new_definition_counts_from_the_next_boot(case: DriverCase) -> None:
    machine, order = case.machine(on=True), case.order()
    larger = replace(machine.spec, memory=8192)
    case.done(lambda: case.driver.ensure_domain(machine.domain, larger, order))
    seen = case.driver.observe(machine.domain)
    assert (seen.spec, seen.active) == (larger, machine.spec)
    case.shut_down(machine.domain)
    case.boot(machine.domain)
    assert case.driver.observe(machine.domain).active == larger


def _news(case: DriverCase, after: int) -> list[Change]:
    return list(case.driver.changes(after))


def a_guest_that_shuts_itself_down_is_told_from_one_that_dies(case: DriverCase) -> None:
    machine, victim = case.machine(on=True), case.machine(on=True)
    assert _news(case, 0) == [], "what was ordered is no news"
    case.harness.shut_down_inside(machine.domain)
    case.harness.kill(victim.domain)
    assert case.driver.observe(machine.domain).reason == "guest"
    assert case.driver.observe(victim.domain).reason == "crashed"
    news = _news(case, 0)
    assert [(change.ref, change.power, change.reason) for change in news] == [
        (machine.domain, "off", "guest"),
        (victim.domain, "off", "crashed"),
    ]
    assert _news(case, news[0].number) == news[1:]
    assert case.harness.start().observe(victim.domain).reason == "crashed"


def a_host_that_does_not_answer_makes_its_machines_unknown(case: DriverCase) -> None:
    machine = case.machine(on=True)
    case.harness.unplug(machine.domain.host)
    assert case.power(machine.domain) == "unknown"
    assert case.driver.observe(machine.root).presence == "unknown"
    assert case.power(DomainRef(machine.domain.host, 999_999)) == "unknown"
    with pytest.raises(Unreachable):
        case.driver.ensure_off(machine.domain, case.order())
    with pytest.raises(Unreachable):
        case.driver.ensure_gone(machine.domain, case.order())
    with pytest.raises(Unreachable):
        case.driver.statistics(machine.domain)
    case.harness.plug(machine.domain.host)
    assert case.power(machine.domain) == "on"


def work_goes_on_behind_a_broken_connection(case: DriverCase) -> None:
    machine, order = case.machine(), case.order()
    begun = case.driver.ensure_running(machine.domain, order)
    case.harness.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        case.driver.ensure_running(machine.domain, order)
    case.harness.wait(begun.remaining + 0.001)
    assert case.power(machine.domain) == "unknown"
    case.harness.plug(machine.domain.host)
    if case.harness.is_exact:
        assert case.driver.ensure_running(machine.domain, order).done
    case.done(lambda: case.driver.ensure_running(machine.domain, order))
    assert case.power(machine.domain) == "on"


def an_order_that_could_not_be_delivered_leaves_no_trace(case: DriverCase) -> None:
    machine, order = case.machine(), case.order()
    case.harness.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        case.driver.ensure_running(machine.domain, order)
    case.harness.plug(machine.domain.host)
    case.harness.wait(60)
    assert case.power(machine.domain) == "off"
    case.done(lambda: case.driver.ensure_running(machine.domain, order))
    assert case.power(machine.domain) == "on"


def machines_go_off_and_come_on_with_their_host(case: DriverCase) -> None:
    running = case.machine(on=True)
    resting = case.machine(running.domain.host)
    case.harness.maintenance(running.domain.host, begins=True)
    seen = case.driver.observe(running.domain)
    assert (seen.power, seen.reason, seen.resumes) == ("off", "host", True)
    rests = case.driver.observe(resting.domain)
    assert (rests.power, rests.reason, rests.resumes) == ("off", "ours", False)
    assert seen.maintenance
    assert rests.maintenance
    with pytest.raises(Refused):
        case.driver.ensure_running(resting.domain, case.order())
    case.harness.maintenance(running.domain.host, begins=False)
    assert case.power(running.domain) == "on"
    assert case.power(resting.domain) == "off"
    assert not case.driver.observe(resting.domain).maintenance
    assert [change.power for change in case.driver.changes(0) if change.ref == running.domain] == ["off", "on"]
    assert [change.power for change in case.driver.changes(0) if change.ref == resting.domain] == ["off", "off"]


def a_machine_shut_down_while_its_host_is_away_stays_off(case: DriverCase) -> None:
    machine = case.machine(on=True)
    case.harness.maintenance(machine.domain.host, begins=True)
    case.shut_down(machine.domain)
    case.harness.maintenance(machine.domain.host, begins=False)
    seen = case.driver.observe(machine.domain)
    assert (seen.power, seen.reason) == ("off", "ours")


def counters_start_with_the_machine_and_grow(case: DriverCase) -> None:
    machine = case.machine(on=True)
    case.harness.wait(300)
    first = case.driver.statistics(machine.domain)
    case.harness.wait(300)
    second = case.driver.statistics(machine.domain)
    assert second.cpu > first.cpu > 0
    assert second.io >= first.io
    if case.harness.counts_traffic:
        assert second.ipv4_out > first.ipv4_out > 0
    case.shut_down(machine.domain)
    assert case.driver.statistics(machine.domain).cpu == 0
    case.boot(machine.domain)
    assert case.driver.statistics(machine.domain).cpu < first.cpu


def a_history_that_may_take_no_time_is_unreachable(case: DriverCase) -> None:
    machine = case.machine(on=True)
    born = case.driver.observe(machine.domain).since or 0
    with pytest.raises(Unreachable):
        case.driver.history(machine.domain, born, born + 1000, 1000, timeout=0)


def a_history_adds_up_and_is_silent_while_the_machine_is_off(case: DriverCase) -> None:
    machine = case.machine(on=True)
    born = case.driver.observe(machine.domain).since or 0
    case.harness.wait(1800)
    case.shut_down(machine.domain)
    went = case.driver.observe(machine.domain).since or 0
    case.harness.wait(1800)
    points = case.driver.history(machine.domain, born, went + 1_500_000, 300_000)
    whole = case.driver.history(machine.domain, born, went + 1_500_000, 10**9)
    assert sum(point.cpu for point in points) == whole[0].cpu > 0
    assert all(point.cpu == 0 for point in points if point.start >= went)
    # The last point before the end may hold nothing where figures are taken now and then.
    before = [point for point in points if (point.start < went if case.harness.is_exact else point.stop <= went)]
    assert all(point.cpu > 0 for point in before)
    if case.harness.counts_traffic:
        assert sum(point.ipv4_in for point in points) == whole[0].ipv4_in > 0
        assert all(point.ipv4_in == 0 for point in points if point.start >= went)
        assert all(point.ipv4_in > 0 for point in before)
