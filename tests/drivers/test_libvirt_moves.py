"""Machines that move while they run, under the libvirt driver; and boots that come too late. On hosts in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import DomainSpec, Progress, Unreachable
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.fake_libvirt.harness import PATIENCE, FakeHarness
from tests.drivers.fake_libvirt.machines import SECOND
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.harness import DriverCase, Machine


class Move:
    """A running machine that is to move, with all that a test needs to meddle with it."""

    def __init__(self, case: DriverCase, harness: FakeHarness) -> None:
        self.machine: Machine = case.machine(on=True)
        self.number = self.machine.domain.host
        self.to = case.host(avoid=self.number)
        self.source, self.target = harness.host(self.number), harness.host(self.to)
        self._order = case.order()
        self._case, self._harness = case, harness

    def call(self, driver: object = None) -> Progress:
        chosen = driver or self._case.driver
        return chosen.ensure_moved(  # type: ignore[no-any-return, attr-defined]
            self.machine.domain, self.to, self.machine.disks, self._order, live=True
        )

    def where(self) -> tuple[int, str]:
        seen = self._case.driver.observe(self.machine.domain)
        return seen.ref.host, seen.power

    def running_on(self) -> list[int]:
        """Return the hosts on which the machine runs."""
        name = self._harness.hand.hosts_client.names.domain(self.machine.domain.id)
        running = virt.VIR_DOMAIN_RUNNING
        both = ((self.number, self.source), (self.to, self.target))
        return [number for number, host in both if name in host.domains and host.domains[name].now[0] == running]


@pytest.fixture
def move(fake_case: DriverCase, fake_harness: FakeHarness) -> Move:
    return Move(fake_case, fake_harness)


# ---- while it runs --------------------------------------------------------------------------------------------------


def test_what_the_guest_has_written_last_comes_along(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    root = move.machine.root

    def write(_name: str) -> None:
        fake_harness.file(root).content += b"the last words"

    move.source.hooks["migrating"] = write
    fake_case.done(move.call)
    assert fake_harness.file(replace(root, host=move.to)).content.endswith(b"the last words")
    assert move.where() == (move.to, "on")
    described = move.target.domains[fake_harness.hand.hosts_client.names.domain(move.machine.domain.id)].described
    assert f"/pool/{move.number}/" not in described, "it boots there with what is there"


def test_a_machine_that_has_arrived_has_left_although_it_cannot_be_defined_anew(
    move: Move, fake_case: DriverCase
) -> None:
    def refuse(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the disk of the host is full")

    move.target.hooks["defineXML"] = refuse
    fake_case.done(move.call)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    left = [name for path, files in move.source.fleet.folders.items() if f"/{move.number}/" in path for name in files]
    assert [name for name in left if not name.startswith("file-")] == []


def test_libvirt_that_gives_up_leaves_it_where_it_runs(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    def give_up(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the guest writes faster than the line carries")

    move.source.hooks["migrating"] = give_up
    ended = fake_case.finish(move.call)
    assert ended.failure == "The host could not do this."
    assert (move.where(), move.running_on()) == ((move.number, "on"), [move.number])
    assert fake_case.driver.list(move.to).disks == ()


def test_a_guest_that_goes_off_on_the_way_is_off_where_it_was(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    move.source.hooks["migrating"] = lambda _: fake_harness.shut_down_inside(move.machine.domain)
    ended = fake_case.finish(move.call)
    assert ended.failure == "The machine went off while it was moved."
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert [change.reason for change in fake_case.driver.changes(0)] == ["guest"]
    assert fake_case.driver.list(move.to).domains == ()


def test_a_move_that_somebody_gives_up_is_broken_off(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    reached = threading.Event()
    name = fake_harness.domain(move.machine.domain).name

    def copy_for_ever(_name: str) -> None:
        reached.set()
        while move.source.domains[name].copying != virt.VIR_DOMAIN_JOB_NONE:
            reached.wait(0.01)

    move.source.hooks["migrating"] = copy_for_ever
    move.call()
    assert reached.wait(PATIENCE)
    fake_case.shut_down(move.machine.domain)
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert (fake_case.driver.list(move.to).domains, fake_case.driver.list(move.to).disks) == ((), ())


def dies(harness: FakeHarness, move: Move, hook: str) -> Callable[[], None]:
    """A process begins the move, and dies in the middle: from then on nothing of it arrives anywhere."""
    dead, reached = harness.start(), threading.Event()
    go_on = threading.Event()

    def stand_still(_name: str) -> None:
        del move.source.hooks[hook]
        reached.set()
        go_on.wait(PATIENCE)
        raise Fault("OPERATION_ABORTED", "the client is gone")

    move.source.hooks[hook] = stand_still
    dead._performer._beating = True  # no sign of life is ever given
    move.call(dead)
    assert reached.wait(PATIENCE)
    with harness.database.write() as db:
        db.update(tables.job, {"verb": "moved"}, beat=0)
    return go_on.set


def test_a_move_whose_process_died_in_the_middle_is_begun_again(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    bury = dies(fake_harness, move, "migrating")
    move.call()
    bury()
    fake_case.done(move.call)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    assert fake_case.driver.list(move.number).disks == ()


def test_a_move_whose_process_died_when_it_had_arrived_is_only_tidied_up(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    bury = dies(fake_harness, move, "after migrate3")
    fake_case.done(move.call)
    bury()
    fake_harness.wait(PATIENCE)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    assert len(move.source.called("migrate3")) == 1
    assert fake_case.driver.list(move.number).disks == ()


def test_a_machine_that_stands_still_between_two_hosts_goes_on(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    """Continue after a process died before confirming the migration: libvirt leaves the machine so."""
    fake_harness.domain(move.machine.domain).now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_MIGRATION)
    move.source.calls.clear()
    fake_case.done(move.call)
    assert move.source.called("resume") == move.source.called("migrate3")
    assert move.running_on() == [move.to]


def test_a_machine_that_has_moved_too_late_is_brought_back(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    """Order something else between the last check of the ledger and the call."""
    order = fake_case.order()
    spec = replace(move.machine.spec, memory=1024)

    def take_over(_name: str) -> None:
        del move.source.hooks["after migrate3"]
        fake_harness.hand.ensure_domain(move.machine.domain, spec, order)

    move.source.hooks["after migrate3"] = take_over
    move.call()
    fake_harness.wait(PATIENCE)
    fake_case.done(lambda: fake_harness.hand.ensure_domain(move.machine.domain, spec, order))
    assert (move.where(), move.running_on()) == ((move.number, "on"), [move.number])
    assert (fake_case.driver.list(move.to).domains, fake_case.driver.list(move.to).disks) == ((), ())


def test_counters_of_a_machine_that_has_moved_are_added_up(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    began = fake_harness.clock.now() - 1
    fake_harness.hand._sampling.take_all()
    fake_case.done(move.call)
    there = replace(move.machine.domain, host=move.to)
    fake_harness.domain(there).processor = 9 * SECOND  # more than it had used up before
    threading.Event().wait(0.01)
    fake_harness.hand._sampling.take_all()
    ended = fake_harness.clock.now()
    used = fake_harness.hand.history(there, began, ended, ended - began)
    assert used[0].cpu == 12_000, "a second at each of two looks before, and ten after"


def test_a_machine_that_cannot_be_brought_back_runs_on_neither_host(
    move: Move, fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    """Rather than on the wrong one: it would be started a second time, where the ledger has it."""
    order, spec = fake_case.order(), replace(move.machine.spec, memory=1024)

    def fail(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the disk over there is full")

    def take_over(_name: str) -> None:
        del move.source.hooks["after migrate3"]
        move.target.hooks["migrating"] = fail
        fake_harness.hand.ensure_domain(move.machine.domain, spec, order)

    move.source.hooks["after migrate3"] = take_over
    move.call()
    fake_harness.wait(PATIENCE)
    fake_case.done(lambda: fake_harness.hand.ensure_domain(move.machine.domain, spec, order))
    fake_harness.hand._periodic_work.sync_power()
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert [change.reason for change in fake_case.driver.changes(0)] == ["crashed"]
    assert (fake_case.driver.list(move.to).domains, fake_case.driver.list(move.to).disks) == ((), ())


# ---- where it may go ------------------------------------------------------------------------------------------------


def test_a_host_that_is_drained_takes_no_machine_but_lets_its_own_boot(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine = fake_case.machine()
    number = machine.domain.host
    fake_harness.start().begin_draining(number)
    assert number not in {fake_case.driver.place(fake_case.region, key, DomainSpec(1, 1024)) for key in range(8)}
    fake_case.boot(machine.domain)
    fake_harness.start().maintenance(number, begins=True)
    fake_harness.start().begin_draining(number)
    assert fake_case.driver.observe(machine.domain).maintenance, "it is out of service already, and stays so"


def test_a_machine_is_placed_where_its_disks_fit_and_its_processor_is(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    first, second = [host.id for host in fake_case.driver.hosts() if host.region == fake_case.region]
    spec = DomainSpec(1, 1024)
    with fake_harness.database.write() as db:
        db.update(tables.host, {"id": second}, disk=5000)
    assert fake_case.driver.place(fake_case.region, 1, spec, avoid=first, disk=5000) == second
    with pytest.raises(Unreachable):
        fake_case.driver.place(fake_case.region, 1, spec, avoid=first, disk=5001)
    with fake_harness.database.write() as db:
        db.update(tables.host, {"id": second}, architecture="riscv64")
    with pytest.raises(Unreachable):
        fake_case.driver.place(fake_case.region, 1, spec, avoid=first)


# ---- late boots -----------------------------------------------------------------------------------------------------


def test_a_machine_that_is_switched_off_in_the_moment_it_is_let_run_does_not_stay_on(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, boot, off = fake_case.machine(), fake_case.order(), fake_case.order()
    progress: list[Progress] = []
    hooks = fake_harness.host(machine.domain.host).hooks

    def switch_off(_name: str) -> None:
        del hooks["resume"]
        progress.append(fake_harness.hand.ensure_off(machine.domain, off))

    hooks["resume"] = switch_off
    fake_harness.start().ensure_running(machine.domain, boot)
    fake_harness.wait(PATIENCE)
    assert not progress[0].done, "it is off only when nobody can switch it on any more"
    fake_case.done(lambda: fake_harness.hand.ensure_off(machine.domain, off))
    fake_harness.hand._periodic_work.sync_power()
    assert fake_case.power(machine.domain) == "off"
    assert fake_harness.domain(machine.domain).running is None


def test_a_machine_that_comes_on_with_its_host_is_let_come_on(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """libvirt shows it as stopped until QEMU is there, and a server looks at it every other second."""
    machine, driver = fake_case.machine(on=True), fake_harness.start()
    driver.maintenance(machine.domain.host, begins=True)
    fake_harness.host(machine.domain.host).hooks["starting"] = lambda _: fake_harness.hand._periodic_work.sync_power()
    driver.maintenance(machine.domain.host, begins=False)
    assert fake_case.power(machine.domain) == "on"
    assert fake_harness.domain(machine.domain).running is not None
