"""Behaviour of the simulated hypervisor alone: durations and failures set by the sandbox."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from crofter.clock import DAY, HOUR
from crofter.drivers.hypervisor import DiskRef, DiskSpec, DomainSpec, Empty, FromImage, Inventory, Order, Refused, Seed
from crofter.drivers.hypervisor.ledger.conditions import DEFAULTS
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor, Transition
from tests.drivers.harness import DriverCase
from tests.drivers.simulated_harness import NOON, SimulatedHarness


def test_work_takes_between_a_fifth_of_a_second_and_three_seconds_unless_told(case: DriverCase) -> None:
    for action, transition in DEFAULTS.items():
        order = case.order(action="anything" if action == "*" else action)
        begun = case.driver.ensure_disk(DiskRef(case.host(), case.number()), DiskSpec(100), Empty(), order)
        assert begun.remaining == transition.seconds
        assert 0.2 <= begun.remaining <= 3


def test_the_table_is_replaced_and_tells_what_is_in_force(
    simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    assert simulated.transitions() == DEFAULTS
    sent = b'{"*": {"seconds": 2}, "compute_reboot": {"seconds": 12}, "disk_resize": {"fail": "reason"}}'
    table = msgspec.json.decode(sent, type=dict[str, Transition])
    assert simulated.set_transitions(table) == harness.start().transitions() == table
    assert msgspec.json.decode(msgspec.json.encode(simulated.transitions())) == msgspec.json.decode(sent)
    assert set(simulated.set_transitions({})) == {"*"}
    for wrong in (b'{"*": {"seconds": -1}}', b'{"*": {"seconds": "2"}}', b'{"*": {"fail": ""}}', b'{"*": 3}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(wrong, type=dict[str, Transition])


def test_the_verbs_of_an_operation_together_take_what_the_table_says(
    case: DriverCase, simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    machine = case.machine(on=True)
    simulated.set_transitions({"compute_reboot": Transition(seconds=12)})
    off = case.order("off", action="compute_reboot", until=40)
    assert simulated.ensure_off(machine.domain, off).remaining == 4.8
    harness.wait(6)  # polled late: the second part is the shorter for it
    on = Order(off.operation, "on", 2, "compute_reboot", 100)
    assert simulated.ensure_off(machine.domain, replace(off, fence=2)).done
    assert simulated.ensure_running(machine.domain, on).remaining == 6
    harness.wait(5.999)
    assert not simulated.ensure_running(machine.domain, on).done
    harness.wait(0.001)
    assert simulated.ensure_running(machine.domain, on).done


def test_verbs_that_share_no_pace_still_end_together(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    machine, order = case.machine(on=True), case.order("off", action="compute_reboot")
    case.done(lambda: simulated.ensure_off(machine.domain, order))
    assert simulated.ensure_running(machine.domain, replace(order, step="on")).done


def test_progress_is_told_in_percent_rate_and_seconds(case: DriverCase, harness: SimulatedHarness) -> None:
    machine, order = case.machine(), case.order(action="compute_migrate_datacenter")
    to = case.host(case.other_region)
    harness.start().set_transitions({"compute_migrate_datacenter": Transition(seconds=100)})
    reports = []
    for _ in range(3):
        reports.append(case.driver.ensure_moved(machine.domain, to, machine.disks, order))
        harness.wait(45)
    assert [progress.percent for progress in reports] == [0, 45, 90]
    assert [progress.remaining for progress in reports] == [100, 55, 10]
    assert {progress.rate for progress in reports} == {45.12}, "4512 MB in 100 s"


def test_an_action_that_must_fail_changes_nothing_and_fails_when_its_time_is_over(
    case: DriverCase, simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    disk, order = case.image_disk(case.host()), case.order(action="disk_resize")
    simulated.set_transitions({"*": Transition(seconds=2), "disk_resize": Transition(fail="No luck.")})
    assert simulated.ensure_size(disk, 9000, order).failure is None
    harness.wait(2)
    ended = simulated.ensure_size(disk, 9000, order)
    assert (ended.done, ended.failure) == (False, "No luck.")
    assert simulated.observe(disk).size == 4000
    assert harness.start().ensure_size(disk, 9000, order).failure == "No luck."
    simulated.set_transitions({})
    case.done(lambda: simulated.ensure_size(disk, 9000, replace(order, step="again")))


@pytest.mark.both
def test_an_operation_fails_once_and_can_tidy_up(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    ref, order = DiskRef(case.host(), case.number()), case.order("make", action="disk_create")
    simulated.set_transitions({"*": Transition(fail="No luck.")})
    assert case.finish(lambda: simulated.ensure_disk(ref, DiskSpec(100), Empty(), order)).failure == "No luck."
    assert simulated.observe(ref).presence == "making"
    case.done(lambda: simulated.ensure_gone(ref, replace(order, step="tidy")))
    assert simulated.list().disks == ()


def test_what_is_under_way_keeps_its_time_when_the_table_changes(
    case: DriverCase, simulated: SimulatedHypervisor
) -> None:
    machine, order = case.machine(), case.order()
    begun = simulated.ensure_running(machine.domain, order)
    simulated.set_transitions({"*": Transition(seconds=500, fail="No luck.")})
    assert simulated.ensure_running(machine.domain, order) == begun


def test_the_same_image_needs_the_same_space_everywhere(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    used = set()
    for image in ("compute/debian12", "compute/debian12", "compute/alpine3.15"):
        ref, order = DiskRef(case.host(), case.number()), case.order()
        source = FromImage(image, 1500)
        case.done(lambda ref=ref, source=source, order=order: simulated.ensure_disk(ref, DiskSpec(2000), source, order))  # type: ignore[misc]
        used.add((image, simulated.observe(ref).used))
    assert len(used) == 2
    assert all(750 <= amount < 1300 for _, amount in used)


@pytest.mark.parametrize("name", ["../../etc/passwd", "My Image", "compute/", "/x", "compute/a b", "compute/$(id)", ""])
def test_a_label_never_becomes_a_name_on_a_host(name: str) -> None:
    with pytest.raises(ValueError, match="catalogue"):
        FromImage(name, 1)
    with pytest.raises(ValueError, match="catalogue"):
        DomainSpec(1, 1024, kernel=name)


def test_no_password_is_kept_or_shown(case: DriverCase, harness: SimulatedHarness) -> None:
    canary = "correct-horse-battery"
    seed = Seed(password=canary, script=f"#!/bin/sh\necho {canary}")
    disk, order = case.image_disk(case.host()), case.order(action="password_reset")
    case.done(lambda: case.driver.ensure_seed(disk, seed, order))
    with harness.database.read() as db:
        for table in ("thing", "work", "change", "setting"):
            assert canary not in str(db.raw(f"SELECT * FROM hypervisor_{table}").fetchall())
    assert canary not in f"{seed} {seed!r}"


@pytest.mark.both
def test_a_reset_leaves_nothing(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    machine = case.machine(on=True)
    simulated.set_transitions({"*": Transition(seconds=9)})
    simulated.faults.maintenance(machine.domain.host, begins=True)
    simulated.reset()
    assert simulated.list() == Inventory()
    assert simulated.changes(0) == ()
    assert simulated.transitions() == DEFAULTS
    assert {host.state for host in simulated.hosts()} == {"up"}


@pytest.mark.both
def test_pruning_forgets_what_is_long_over_and_keeps_what_is_there(
    case: DriverCase, simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    machine, gone = case.machine(on=True), case.empty_disk(case.host())
    case.remove(gone)
    harness.wait(DAY / 1000)
    recent = case.empty_disk(machine.domain.host)
    case.remove(recent)
    before = case.picture()
    assert simulated.prune(NOON + DAY // 2) > 0
    assert simulated.prune(NOON + DAY // 2) == 0
    assert case.picture() == before
    with pytest.raises(Refused):
        simulated.ensure_disk(recent, DiskSpec(512), Empty(), case.order())


def test_statistics_look_like_a_machine_at_work(
    case: DriverCase, simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    machine, other = case.machine(on=True), case.machine(on=True)
    harness.wait(31 * DAY / 1000)
    month = simulated.history(machine.domain, harness.clock.now() - 30 * DAY, harness.clock.now(), 2 * HOUR)
    assert len(month) == 360
    shares = [point.cpu / (2 * HOUR) for point in month]
    assert 0 < min(shares) < max(shares) < 2, "never idle, never more than its two processors"
    assert max(shares) > 1.1 * min(shares), "days and nights differ"
    assert month == harness.start().history(machine.domain, month[0].start, month[-1].stop, 2 * HOUR)
    assert month != simulated.history(other.domain, month[0].start, month[-1].stop, 2 * HOUR)
    with pytest.raises(Refused):
        simulated.history(machine.domain, 0, harness.clock.now(), 1000)


def test_a_machine_with_many_runs_does_not_forget_its_traffic(
    case: DriverCase, simulated: SimulatedHypervisor, harness: SimulatedHarness
) -> None:
    machine, seen = case.machine(), 0
    for _ in range(80):
        case.boot(machine.domain)
        harness.wait(60)
        case.shut_down(machine.domain)
        total = simulated.history(machine.domain, NOON, harness.clock.now(), DAY)[0].ipv4_out
        assert total > seen
        seen = total


def test_a_region_added_later_moves_no_host(harness: SimulatedHarness) -> None:
    few = {host.id: host.region for host in harness.start().hosts()}
    many = SimulatedHypervisor(
        harness.database, harness.clock, (*harness.regions, "ap-south", "aa"), hosts_per_region=5
    )
    assert few.items() < {host.id: host.region for host in many.hosts()}.items()
