"""Machines that move while they run, under the libvirt driver; and boots that come too late. On hosts in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import DomainSpec, Progress, Unreachable
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.bench import Machine, Yard
from tests.drivers.fake_libvirt.bench import PATIENCE, FakeBench
from tests.drivers.fake_libvirt.machines import SECOND
from tests.drivers.fake_libvirt.module import Fault, virt


class Move:
    """A running machine that is to move, with all that a test needs to meddle with it."""

    def __init__(self, yard: Yard, bench: FakeBench) -> None:
        self.machine: Machine = yard.machine(on=True)
        self.number = self.machine.domain.host
        self.to = yard.host(avoid=self.number)
        self.source, self.target = bench.host(self.number), bench.host(self.to)
        self._order = yard.order()
        self._yard, self._bench = yard, bench

    def call(self, driver: object = None) -> Progress:
        chosen = driver or self._yard.driver
        return chosen.ensure_moved(  # type: ignore[no-any-return, attr-defined]
            self.machine.domain, self.to, self.machine.disks, self._order, live=True
        )

    def where(self) -> tuple[int, str]:
        seen = self._yard.driver.observe(self.machine.domain)
        return seen.ref.host, seen.power

    def running_on(self) -> list[int]:
        """The hosts on which it really runs."""
        name = self._bench.hand.hosts_client.names.domain(self.machine.domain.id)
        running = virt.VIR_DOMAIN_RUNNING
        both = ((self.number, self.source), (self.to, self.target))
        return [number for number, host in both if name in host.domains and host.domains[name].now[0] == running]


@pytest.fixture
def move(fake_yard: Yard, fake_bench: FakeBench) -> Move:
    return Move(fake_yard, fake_bench)


# ---- while it runs --------------------------------------------------------------------------------------------------


def test_what_the_guest_has_written_last_comes_along(move: Move, fake_yard: Yard, fake_bench: FakeBench) -> None:
    root = move.machine.root

    def write(_name: str) -> None:
        fake_bench.file(root).content += b"the last words"

    move.source.hooks["migrating"] = write
    fake_yard.done(move.call)
    assert fake_bench.file(replace(root, host=move.to)).content.endswith(b"the last words")
    assert move.where() == (move.to, "on")
    described = move.target.domains[fake_bench.hand.hosts_client.names.domain(move.machine.domain.id)].described
    assert f"/pool/{move.number}/" not in described, "it boots there with what is there"


def test_a_machine_that_has_arrived_has_left_although_it_cannot_be_defined_anew(move: Move, fake_yard: Yard) -> None:
    def refuse(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the disk of the host is full")

    move.target.hooks["defineXML"] = refuse
    fake_yard.done(move.call)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    left = [name for path, files in move.source.world.folders.items() if f"/{move.number}/" in path for name in files]
    assert [name for name in left if not name.startswith("file-")] == []


def test_libvirt_that_gives_up_leaves_it_where_it_runs(move: Move, fake_yard: Yard, fake_bench: FakeBench) -> None:
    def give_up(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the guest writes faster than the line carries")

    move.source.hooks["migrating"] = give_up
    ended = fake_yard.finish(move.call)
    assert ended.failure == "The host could not do this."
    assert (move.where(), move.running_on()) == ((move.number, "on"), [move.number])
    assert fake_yard.driver.list(move.to).disks == ()


def test_a_guest_that_goes_off_on_the_way_is_off_where_it_was(
    move: Move, fake_yard: Yard, fake_bench: FakeBench
) -> None:
    move.source.hooks["migrating"] = lambda _: fake_bench.shut_down_inside(move.machine.domain)
    ended = fake_yard.finish(move.call)
    assert ended.failure == "The machine went off while it was moved."
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert [change.reason for change in fake_yard.driver.changes(0)] == ["guest"]
    assert fake_yard.driver.list(move.to).domains == ()


def test_a_move_that_somebody_gives_up_is_broken_off(move: Move, fake_yard: Yard, fake_bench: FakeBench) -> None:
    reached = threading.Event()
    name = fake_bench.domain(move.machine.domain).name

    def copy_for_ever(_name: str) -> None:
        reached.set()
        while move.source.domains[name].copying != virt.VIR_DOMAIN_JOB_NONE:
            reached.wait(0.01)

    move.source.hooks["migrating"] = copy_for_ever
    move.call()
    assert reached.wait(PATIENCE)
    fake_yard.shut_down(move.machine.domain)
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert (fake_yard.driver.list(move.to).domains, fake_yard.driver.list(move.to).disks) == ((), ())


def dies(bench: FakeBench, move: Move, hook: str) -> Callable[[], None]:
    """A process begins the move, and dies in the middle: from then on nothing of it arrives anywhere."""
    dead, reached = bench.start(), threading.Event()
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
    with bench.database.write() as db:
        db.update(tables.job, {"verb": "moved"}, beat=0)
    return go_on.set


def test_a_move_whose_process_died_in_the_middle_is_begun_again(
    move: Move, fake_yard: Yard, fake_bench: FakeBench
) -> None:
    bury = dies(fake_bench, move, "migrating")
    move.call()
    bury()
    fake_yard.done(move.call)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    assert fake_yard.driver.list(move.number).disks == ()


def test_a_move_whose_process_died_when_it_had_arrived_is_only_tidied_up(
    move: Move, fake_yard: Yard, fake_bench: FakeBench
) -> None:
    bury = dies(fake_bench, move, "after migrate3")
    fake_yard.done(move.call)
    bury()
    fake_bench.wait(PATIENCE)
    assert (move.where(), move.running_on()) == ((move.to, "on"), [move.to])
    assert len(move.source.called("migrate3")) == 1
    assert fake_yard.driver.list(move.number).disks == ()


def test_a_machine_that_stands_still_between_two_hosts_goes_on(
    move: Move, fake_yard: Yard, fake_bench: FakeBench
) -> None:
    """libvirt leaves it so where the process dies that was to tell the one host that the other has it."""
    fake_bench.domain(move.machine.domain).now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_MIGRATION)
    move.source.calls.clear()
    fake_yard.done(move.call)
    assert move.source.called("resume") == move.source.called("migrate3")
    assert move.running_on() == [move.to]


def test_a_machine_that_has_moved_too_late_is_brought_back(move: Move, fake_yard: Yard, fake_bench: FakeBench) -> None:
    """Between the last look at the ledger and the call any time may pass, and somebody else order something."""
    order = fake_yard.order()
    spec = replace(move.machine.spec, memory=1024)

    def take_over(_name: str) -> None:
        del move.source.hooks["after migrate3"]
        fake_bench.hand.ensure_domain(move.machine.domain, spec, order)

    move.source.hooks["after migrate3"] = take_over
    move.call()
    fake_bench.wait(PATIENCE)
    fake_yard.done(lambda: fake_bench.hand.ensure_domain(move.machine.domain, spec, order))
    assert (move.where(), move.running_on()) == ((move.number, "on"), [move.number])
    assert (fake_yard.driver.list(move.to).domains, fake_yard.driver.list(move.to).disks) == ((), ())


def test_counters_of_a_machine_that_has_moved_are_added_up(move: Move, fake_yard: Yard, fake_bench: FakeBench) -> None:
    began = fake_bench.clock.now() - 1
    fake_bench.hand._sampling.take_all()
    fake_yard.done(move.call)
    there = replace(move.machine.domain, host=move.to)
    fake_bench.domain(there).processor = 9 * SECOND  # more than it had used up before
    threading.Event().wait(0.01)
    fake_bench.hand._sampling.take_all()
    ended = fake_bench.clock.now()
    used = fake_bench.hand.history(there, began, ended, ended - began)
    assert used[0].cpu == 12_000, "a second at each of two looks before, and ten after"


def test_a_machine_that_cannot_be_brought_back_runs_on_neither_host(
    move: Move, fake_yard: Yard, fake_bench: FakeBench
) -> None:
    """Rather than on the wrong one: it would be started a second time, where the ledger has it."""
    order, spec = fake_yard.order(), replace(move.machine.spec, memory=1024)

    def fail(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "the disk over there is full")

    def take_over(_name: str) -> None:
        del move.source.hooks["after migrate3"]
        move.target.hooks["migrating"] = fail
        fake_bench.hand.ensure_domain(move.machine.domain, spec, order)

    move.source.hooks["after migrate3"] = take_over
    move.call()
    fake_bench.wait(PATIENCE)
    fake_yard.done(lambda: fake_bench.hand.ensure_domain(move.machine.domain, spec, order))
    fake_bench.hand._periodic_work.sync_power()
    assert (move.where(), move.running_on()) == ((move.number, "off"), [])
    assert [change.reason for change in fake_yard.driver.changes(0)] == ["crashed"]
    assert (fake_yard.driver.list(move.to).domains, fake_yard.driver.list(move.to).disks) == ((), ())


# ---- where it may go ------------------------------------------------------------------------------------------------


def test_a_host_that_is_drained_takes_no_machine_but_lets_its_own_boot(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine = fake_yard.machine()
    number = machine.domain.host
    fake_bench.start().begin_draining(number)
    assert number not in {fake_yard.driver.place(fake_yard.region, key, DomainSpec(1, 1024)) for key in range(8)}
    fake_yard.boot(machine.domain)
    fake_bench.start().maintenance(number, begins=True)
    fake_bench.start().begin_draining(number)
    assert fake_yard.driver.observe(machine.domain).maintenance, "it is out of service already, and stays so"


def test_a_machine_is_placed_where_its_disks_fit_and_its_processor_is(fake_yard: Yard, fake_bench: FakeBench) -> None:
    first, second = [host.id for host in fake_yard.driver.hosts() if host.region == fake_yard.region]
    spec = DomainSpec(1, 1024)
    with fake_bench.database.write() as db:
        db.update(tables.host, {"id": second}, disk=5000)
    assert fake_yard.driver.place(fake_yard.region, 1, spec, avoid=first, disk=5000) == second
    with pytest.raises(Unreachable):
        fake_yard.driver.place(fake_yard.region, 1, spec, avoid=first, disk=5001)
    with fake_bench.database.write() as db:
        db.update(tables.host, {"id": second}, architecture="riscv64")
    with pytest.raises(Unreachable):
        fake_yard.driver.place(fake_yard.region, 1, spec, avoid=first)


# ---- late boots -----------------------------------------------------------------------------------------------------


def test_a_machine_that_is_switched_off_in_the_moment_it_is_let_run_does_not_stay_on(
    fake_yard: Yard, fake_bench: FakeBench
) -> None:
    machine, boot, off = fake_yard.machine(), fake_yard.order(), fake_yard.order()
    said: list[Progress] = []
    hooks = fake_bench.host(machine.domain.host).hooks

    def switch_off(_name: str) -> None:
        del hooks["resume"]
        said.append(fake_bench.hand.ensure_off(machine.domain, off))

    hooks["resume"] = switch_off
    fake_bench.start().ensure_running(machine.domain, boot)
    fake_bench.wait(PATIENCE)
    assert not said[0].done, "it is off only when nobody can switch it on any more"
    fake_yard.done(lambda: fake_bench.hand.ensure_off(machine.domain, off))
    fake_bench.hand._periodic_work.sync_power()
    assert fake_yard.power(machine.domain) == "off"
    assert fake_bench.domain(machine.domain).running is None


def test_a_machine_that_comes_on_with_its_host_is_let_come_on(fake_yard: Yard, fake_bench: FakeBench) -> None:
    """libvirt shows it as stopped until QEMU is there, and a server looks at it every other second."""
    machine, driver = fake_yard.machine(on=True), fake_bench.start()
    driver.maintenance(machine.domain.host, begins=True)
    fake_bench.host(machine.domain.host).hooks["starting"] = lambda _: fake_bench.hand._periodic_work.sync_power()
    driver.maintenance(machine.domain.host, begins=False)
    assert fake_yard.power(machine.domain) == "on"
    assert fake_bench.domain(machine.domain).running is not None
