"""Running machines under the libvirt driver: hosts out of service, copies of disks in use. On hosts in memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from crofter.drivers.hypervisor import BackupRef, DiskRef, DriverError
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.fake_libvirt.harness import PATIENCE, FakeHarness
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.fake_libvirt.storage import File
from tests.drivers.harness import DriverCase, Machine


class BrokenOff(Exception):
    """The operator has pressed Ctrl-C."""


def two_machines(case: DriverCase) -> tuple[Machine, Machine]:
    first = case.machine(on=True)
    return first, case.machine(first.domain.host, on=True)


def states(case: DriverCase, *machines: Machine) -> list[tuple[str, str | None, bool]]:
    seen = [case.driver.observe(machine.domain) for machine in machines]
    return [(machine.power, machine.reason, machine.resumes) for machine in seen]


# ---- hosts out of service -------------------------------------------------------------------------------------------


def test_a_drain_that_is_broken_off_remembers_which_machines_were_on(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machines, driver = two_machines(fake_case), fake_harness.start()
    number = machines[0].domain.host
    host = fake_harness.host(number)

    def break_off(_name: str) -> None:
        fake_harness.hand._periodic_work.sync_power()  # the server sees that the first guest is off
        raise BrokenOff

    host.hooks["after shutdown"] = break_off
    with pytest.raises(BrokenOff):
        driver.maintenance(number, begins=True)
    del host.hooks["after shutdown"]
    assert fake_case.driver.changes(0) == (), "no guest has switched itself off"
    driver.maintenance(number, begins=True)
    assert states(fake_case, *machines) == [("off", "host", True)] * 2
    driver.maintenance(number, begins=False)
    assert states(fake_case, *machines) == [("on", None, False)] * 2


def test_a_drain_that_is_broken_off_can_be_taken_back(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    machines, driver = two_machines(fake_case), fake_harness.start()
    number = machines[0].domain.host

    def break_off(_name: str) -> None:
        raise BrokenOff

    fake_harness.host(number).hooks["after shutdown"] = break_off
    with pytest.raises(BrokenOff):
        driver.maintenance(number, begins=True)
    driver.maintenance(number, begins=False)
    assert states(fake_case, *machines) == [("on", None, False)] * 2
    assert all(fake_harness.domain(machine.domain).running is not None for machine in machines)


def test_a_machine_that_does_not_come_on_again_keeps_no_other_off(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machines, driver = two_machines(fake_case), fake_harness.start()
    number = machines[0].domain.host
    driver.maintenance(number, begins=True)
    broken = fake_harness.domain(machines[0].domain).name
    hooks = fake_harness.host(number).hooks

    def refuse(name: str) -> None:
        if name == broken:
            raise Fault("OPERATION_FAILED", "its card is gone")

    hooks["create"] = refuse
    with pytest.raises(DriverError, match=str(machines[0].domain.id)):
        driver.maintenance(number, begins=False)
    assert states(fake_case, *machines) == [("off", "host", True), ("on", None, False)]
    del hooks["create"]
    driver.maintenance(number, begins=False)
    assert states(fake_case, *machines) == [("on", None, False)] * 2


def test_a_guest_that_does_not_listen_loses_its_power_with_its_host(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, driver = fake_case.machine(on=True), fake_harness.start()
    fake_harness.domain(machine.domain).deaf = True
    driver.maintenance(machine.domain.host, begins=True, grace=0)
    assert states(fake_case, machine) == [("off", "host", True)]


def test_a_machine_that_is_just_being_started_does_not_stay_on(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, order, driver = fake_case.machine(), fake_case.order(), fake_harness.start()
    number = machine.domain.host

    def close(_name: str) -> None:
        with fake_harness.database.write() as db:
            db.update(tables.host, {"id": number}, state="maintenance")

    fake_harness.host(number).hooks["createWithFlags"] = close
    ended = fake_case.finish(lambda: driver.ensure_running(machine.domain, order))
    assert ended.failure == "The host is in maintenance."
    assert fake_harness.domain(machine.domain).running is None


def test_a_machine_that_its_daemon_is_still_busy_with_is_started_a_moment_later(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine = fake_case.machine()
    host = fake_harness.host(machine.domain.host)

    def hold(_name: str) -> None:
        if len(host.called("createWithFlags")) < 3:
            raise Fault("OPERATION_TIMEOUT", "Timed out during operation: cannot acquire state change lock")

    host.hooks["createWithFlags"] = hold
    fake_case.boot(machine.domain)
    assert fake_case.power(machine.domain) == "on"


# ---- copies of disks in use -----------------------------------------------------------------------------------------


def test_a_copy_that_outlives_its_process_is_broken_off_and_made_anew(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, order = fake_case.machine(on=True), fake_case.order()
    ref = BackupRef(machine.domain.host, fake_case.number())
    domain, dead = fake_harness.domain(machine.domain), fake_harness.start()
    domain.stays = True
    with fake_harness.stalled(dead, 2):
        dead.ensure_backup(ref, machine.disks, order)
        assert domain.copying != virt.VIR_DOMAIN_JOB_NONE
        fake_case.done(lambda: fake_case.driver.ensure_backup(ref, machine.disks, order))
    saved = f"bk{ref.id}-d{machine.root.id}.qcow2"
    assert saved in fake_harness.hand.hosts_client.client(ref.host).listed()


def test_two_processes_that_copy_a_machine_do_not_break_each_other_off(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine = fake_case.machine(on=True)
    first, second = (BackupRef(machine.domain.host, fake_case.number()) for _ in range(2))
    orders, domain = (fake_case.order(), fake_case.order()), fake_harness.domain(machine.domain)
    domain.stays = True
    host = fake_harness.host(machine.domain.host)
    looked, other = threading.Event(), fake_harness.start()
    assert not fake_case.driver.ensure_backup(first, machine.disks, orders[0]).done
    host.until_called("backupBegin")
    before = len(host.called("jobStats"))
    host.hooks["jobStats"] = lambda _: looked.set() if len(host.called("jobStats")) > before + 1 else None
    assert not other.ensure_backup(second, machine.disks, orders[1]).done
    assert looked.wait(PATIENCE), "the second one waits"
    domain.stays = False
    fake_case.done(lambda: fake_case.driver.ensure_backup(first, machine.disks, orders[0]))
    fake_case.done(lambda: fake_case.driver.ensure_backup(second, machine.disks, orders[1]))
    assert host.called("abortJob") == []


def test_a_guest_does_not_stay_frozen(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """Neither when the answer to the freezing gets lost, nor when a process has died in between."""
    machine = fake_case.machine(on=True)
    domain, host = fake_harness.domain(machine.domain), fake_harness.host(machine.domain.host)

    def lose_the_answer(_name: str) -> None:
        del host.hooks["after fsFreeze"]
        raise Fault("AGENT_UNRESPONSIVE", "guest agent is not responding")

    host.hooks["after fsFreeze"] = lose_the_answer
    fake_case.backup(machine)
    assert not domain.frozen
    domain.frozen = True
    fake_case.backup(machine)
    assert not domain.frozen
    assert len(host.called("after fsFreeze")) == 2, "the second one was of a guest that could be frozen again"


def test_jobs_of_a_process_that_ends_are_taken_over_at_once(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    machine, order, ending = fake_case.machine(on=True), fake_case.order(), fake_harness.start()
    ref, domain = BackupRef(machine.domain.host, fake_case.number()), fake_harness.domain(machine.domain)
    domain.stays = True  # a copy that takes long
    assert not ending.ensure_backup(ref, machine.disks, order).done
    fake_harness.host(ref.host).until_called("backupBegin")
    ending._performer.close(0)
    fake_case.driver.ensure_backup(ref, machine.disks, order)
    with fake_harness.hand._store.reading() as ledger:
        assert ending._performer.owner not in {job.owner for job in ledger.jobs()}
    fake_harness.wait(PATIENCE)
    assert fake_case.driver.ensure_backup(ref, machine.disks, order).done


# ---- growing --------------------------------------------------------------------------------------------------------


def grown(case: DriverCase, disk: DiskRef, size: int) -> str | None:
    order = case.order(action="disk_resize")
    return case.finish(lambda: case.driver.ensure_size(disk, size, order)).failure


def test_growing_that_is_taken_over_grows_all_the_same(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """The first process has made the volume larger: how large the disk was is known from the ledger alone."""
    disk, order, dead = fake_case.image_disk(fake_case.host()), fake_case.order(), fake_harness.start()
    scripts: list[str] = []
    host = fake_harness.host(disk.host)

    def note(_subject: File, script: str) -> str:
        scripts.append(script)
        return "rc=0\n"

    host.helper = note
    with fake_harness.stalled(dead, 2):
        dead.ensure_size(disk, 6000, order)
        assert fake_harness.file(disk).capacity == 6000 << 20
        fake_case.done(lambda: fake_case.driver.ensure_size(disk, 6000, order))
    assert all("grow_flat" in script for script in scripts)
    assert scripts


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        ("rc=8\nthe journal is damaged\n", 4000),
        ("rc=1\nthe file system is about to grow\nresize2fs: input/output error\n", 6000),
        ("", 6000),
    ],
)
def test_a_volume_is_made_smaller_again_only_if_its_file_system_was_left_alone(
    fake_case: DriverCase, fake_harness: FakeHarness, answer: str, size: int
) -> None:
    disk = fake_case.image_disk(fake_case.host())
    host: Any = fake_harness.host(disk.host)

    def fail(subject: File, _script: str) -> str:
        if size == 6000:
            subject.filesystem = subject.capacity
        return answer

    host.helper = fail
    assert grown(fake_case, disk, 6000) is not None
    file = fake_harness.file(disk)
    assert file.capacity == size << 20
    assert not file.cut
    host.helper = None
    assert grown(fake_case, disk, 6000) is None
    assert file.filesystem == 6000 << 20
