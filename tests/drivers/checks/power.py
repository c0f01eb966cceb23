"""Machines go on and off, by order and by themselves; a host that does not answer says nothing about them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import Absent, Change, DomainRef, DomainSpec, Refused, Unreachable
from tests.drivers.bench import Yard


def a_machine_is_absent_then_off_then_on_then_off(yard: Yard) -> None:
    assert yard.power(DomainRef(yard.host(), yard.number())) == "absent"
    machine = yard.machine()
    assert yard.power(machine.domain) == "off"
    yard.boot(machine.domain)
    seen = yard.driver.observe(machine.domain)
    assert (seen.power, seen.reason, seen.active) == ("on", None, machine.spec)
    yard.shut_down(machine.domain)
    seen = yard.driver.observe(machine.domain)
    assert (seen.power, seen.reason, seen.active) == ("off", "ours", None)


def what_is_not_there_cannot_be_switched(yard: Yard) -> None:
    ref = DomainRef(yard.host(), yard.number())
    with pytest.raises(Absent):
        yard.driver.ensure_running(ref, yard.order())
    with pytest.raises(Absent):
        yard.driver.ensure_off(ref, yard.order())


def a_machine_without_a_device_does_not_boot(yard: Yard) -> None:
    ref, order = DomainRef(yard.host(), yard.number()), yard.order()
    yard.done(lambda: yard.driver.ensure_domain(ref, DomainSpec(1, 1024), order))
    with pytest.raises(Refused):
        yard.driver.ensure_running(ref, yard.order())


def a_new_definition_counts_from_the_next_boot(yard: Yard) -> None:
    machine, order = yard.machine(on=True), yard.order()
    larger = replace(machine.spec, memory=8192)
    yard.done(lambda: yard.driver.ensure_domain(machine.domain, larger, order))
    seen = yard.driver.observe(machine.domain)
    assert (seen.spec, seen.active) == (larger, machine.spec)
    yard.shut_down(machine.domain)
    yard.boot(machine.domain)
    assert yard.driver.observe(machine.domain).active == larger


def _news(yard: Yard, after: int) -> list[Change]:
    return list(yard.driver.changes(after))


def a_guest_that_shuts_itself_down_is_told_from_one_that_dies(yard: Yard) -> None:
    machine, victim = yard.machine(on=True), yard.machine(on=True)
    assert _news(yard, 0) == [], "what was ordered is no news"
    yard.bench.shut_down_inside(machine.domain)
    yard.bench.kill(victim.domain)
    assert yard.driver.observe(machine.domain).reason == "guest"
    assert yard.driver.observe(victim.domain).reason == "crashed"
    news = _news(yard, 0)
    assert [(change.ref, change.power, change.reason) for change in news] == [
        (machine.domain, "off", "guest"),
        (victim.domain, "off", "crashed"),
    ]
    assert _news(yard, news[0].number) == news[1:]
    assert yard.bench.start().observe(victim.domain).reason == "crashed"


def a_host_that_does_not_answer_makes_its_machines_unknown(yard: Yard) -> None:
    machine = yard.machine(on=True)
    yard.bench.unplug(machine.domain.host)
    assert yard.power(machine.domain) == "unknown"
    assert yard.driver.observe(machine.root).presence == "unknown"
    assert yard.power(DomainRef(machine.domain.host, 999_999)) == "unknown"
    with pytest.raises(Unreachable):
        yard.driver.ensure_off(machine.domain, yard.order())
    with pytest.raises(Unreachable):
        yard.driver.ensure_gone(machine.domain, yard.order())
    with pytest.raises(Unreachable):
        yard.driver.statistics(machine.domain)
    yard.bench.plug(machine.domain.host)
    assert yard.power(machine.domain) == "on"


def work_goes_on_behind_a_broken_connection(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order()
    begun = yard.driver.ensure_running(machine.domain, order)
    yard.bench.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        yard.driver.ensure_running(machine.domain, order)
    yard.bench.wait(begun.remaining + 0.001)
    assert yard.power(machine.domain) == "unknown"
    yard.bench.plug(machine.domain.host)
    if yard.bench.is_exact:
        assert yard.driver.ensure_running(machine.domain, order).done
    yard.done(lambda: yard.driver.ensure_running(machine.domain, order))
    assert yard.power(machine.domain) == "on"


def an_order_that_could_not_be_delivered_leaves_no_trace(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order()
    yard.bench.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        yard.driver.ensure_running(machine.domain, order)
    yard.bench.plug(machine.domain.host)
    yard.bench.wait(60)
    assert yard.power(machine.domain) == "off"
    yard.done(lambda: yard.driver.ensure_running(machine.domain, order))
    assert yard.power(machine.domain) == "on"


def machines_go_off_and_come_on_with_their_host(yard: Yard) -> None:
    running = yard.machine(on=True)
    resting = yard.machine(running.domain.host)
    yard.bench.maintenance(running.domain.host, begins=True)
    seen = yard.driver.observe(running.domain)
    assert (seen.power, seen.reason, seen.resumes) == ("off", "host", True)
    rests = yard.driver.observe(resting.domain)
    assert (rests.power, rests.reason, rests.resumes) == ("off", "ours", False)
    assert seen.maintenance
    assert rests.maintenance
    with pytest.raises(Refused):
        yard.driver.ensure_running(resting.domain, yard.order())
    yard.bench.maintenance(running.domain.host, begins=False)
    assert yard.power(running.domain) == "on"
    assert yard.power(resting.domain) == "off"
    assert not yard.driver.observe(resting.domain).maintenance
    assert [change.power for change in yard.driver.changes(0) if change.ref == running.domain] == ["off", "on"]
    assert [change.power for change in yard.driver.changes(0) if change.ref == resting.domain] == ["off", "off"]


def a_machine_shut_down_while_its_host_is_away_stays_off(yard: Yard) -> None:
    machine = yard.machine(on=True)
    yard.bench.maintenance(machine.domain.host, begins=True)
    yard.shut_down(machine.domain)
    yard.bench.maintenance(machine.domain.host, begins=False)
    seen = yard.driver.observe(machine.domain)
    assert (seen.power, seen.reason) == ("off", "ours")


def counters_start_with_the_machine_and_grow(yard: Yard) -> None:
    machine = yard.machine(on=True)
    yard.bench.wait(300)
    first = yard.driver.statistics(machine.domain)
    yard.bench.wait(300)
    second = yard.driver.statistics(machine.domain)
    assert second.cpu > first.cpu > 0
    assert second.io >= first.io
    if yard.bench.counts_traffic:
        assert second.ipv4_out > first.ipv4_out > 0
    yard.shut_down(machine.domain)
    assert yard.driver.statistics(machine.domain).cpu == 0
    yard.boot(machine.domain)
    assert yard.driver.statistics(machine.domain).cpu < first.cpu


def a_history_that_may_take_no_time_is_unreachable(yard: Yard) -> None:
    machine = yard.machine(on=True)
    born = yard.driver.observe(machine.domain).since or 0
    with pytest.raises(Unreachable):
        yard.driver.history(machine.domain, born, born + 1000, 1000, timeout=0)


def a_history_adds_up_and_is_silent_while_the_machine_is_off(yard: Yard) -> None:
    machine = yard.machine(on=True)
    born = yard.driver.observe(machine.domain).since or 0
    yard.bench.wait(1800)
    yard.shut_down(machine.domain)
    went = yard.driver.observe(machine.domain).since or 0
    yard.bench.wait(1800)
    points = yard.driver.history(machine.domain, born, went + 1_500_000, 300_000)
    whole = yard.driver.history(machine.domain, born, went + 1_500_000, 10**9)
    assert sum(point.cpu for point in points) == whole[0].cpu > 0
    assert all(point.cpu == 0 for point in points if point.start >= went)
    # The last point before the end may hold nothing where figures are taken now and then.
    before = [point for point in points if (point.start < went if yard.bench.is_exact else point.stop <= went)]
    assert all(point.cpu > 0 for point in before)
    if yard.bench.counts_traffic:
        assert sum(point.ipv4_in for point in points) == whole[0].ipv4_in > 0
        assert all(point.ipv4_in == 0 for point in points if point.start >= went)
        assert all(point.ipv4_in > 0 for point in before)
