"""Running machines under the libvirt driver: hosts out of service, copies of disks in use. On hosts in memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from crofter.drivers.hypervisor import BackupRef, DiskRef, DriverError
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.bench import Machine, Yard
from tests.drivers.fake_libvirt.bench import PATIENCE, FakeBench
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.fake_libvirt.storage import File


class BrokenOff(Exception):
    """Somebody has pressed Ctrl-C."""


def two_machines(yard: Yard) -> tuple[Machine, Machine]:
    first = yard.machine(on=True)
    return first, yard.machine(first.domain.host, on=True)


def states(yard: Yard, *machines: Machine) -> list[tuple[str, str | None, bool]]:
    seen = [yard.driver.observe(machine.domain) for machine in machines]
    return [(machine.power, machine.reason, machine.resumes) for machine in seen]


# ---- hosts out of service -------------------------------------------------------------------------------------------


def test_a_drain_that_is_broken_off_remembers_which_machines_were_on(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machines, driver = two_machines(fake_yard), fake_bench.start()
    number = machines[0].domain.host
    host = fake_bench.host(number)

    def break_off(_name: str) -> None:
        fake_bench.hand._periodic_work.sync_power()  # the server sees that the first guest is off
        raise BrokenOff

    host.hooks["after shutdown"] = break_off
    with pytest.raises(BrokenOff):
        driver.maintenance(number, begins=True)
    del host.hooks["after shutdown"]
    assert fake_yard.driver.changes(0) == (), "no guest has switched itself off"
    driver.maintenance(number, begins=True)
    assert states(fake_yard, *machines) == [("off", "host", True)] * 2
    driver.maintenance(number, begins=False)
    assert states(fake_yard, *machines) == [("on", None, False)] * 2


def test_a_drain_that_is_broken_off_can_be_taken_back(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machines, driver = two_machines(fake_yard), fake_bench.start()
    number = machines[0].domain.host

    def break_off(_name: str) -> None:
        raise BrokenOff

    fake_bench.host(number).hooks["after shutdown"] = break_off
    with pytest.raises(BrokenOff):
        driver.maintenance(number, begins=True)
    driver.maintenance(number, begins=False)
    assert states(fake_yard, *machines) == [("on", None, False)] * 2
    assert all(fake_bench.domain(machine.domain).running is not None for machine in machines)


def test_a_machine_that_does_not_come_on_again_keeps_no_other_off(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machines, driver = two_machines(fake_yard), fake_bench.start()
    number = machines[0].domain.host
    driver.maintenance(number, begins=True)
    broken = fake_bench.domain(machines[0].domain).name
    hooks = fake_bench.host(number).hooks

    def refuse(name: str) -> None:
        if name == broken:
            raise Fault("OPERATION_FAILED", "its card is gone")

    hooks["create"] = refuse
    with pytest.raises(DriverError, match=str(machines[0].domain.id)):
        driver.maintenance(number, begins=False)
    assert states(fake_yard, *machines) == [("off", "host", True), ("on", None, False)]
    del hooks["create"]
    driver.maintenance(number, begins=False)
    assert states(fake_yard, *machines) == [("on", None, False)] * 2


def test_a_guest_that_does_not_listen_loses_its_power_with_its_host(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine, driver = fake_yard.machine(on=True), fake_bench.start()
    fake_bench.domain(machine.domain).deaf = True
    driver.maintenance(machine.domain.host, begins=True, grace=0)
    assert states(fake_yard, machine) == [("off", "host", True)]


def test_a_machine_that_is_just_being_started_does_not_stay_on(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine, order, driver = fake_yard.machine(), fake_yard.order(), fake_bench.start()
    number = machine.domain.host

    def close(_name: str) -> None:
        with fake_bench.database.write() as db:
            db.update(tables.host, {"id": number}, state="maintenance")

    fake_bench.host(number).hooks["createWithFlags"] = close
    ended = fake_yard.finish(lambda: driver.ensure_running(machine.domain, order))
    assert ended.failure == "The host is in maintenance."
    assert fake_bench.domain(machine.domain).running is None


def test_a_machine_that_its_daemon_is_still_busy_with_is_started_a_moment_later(
    fake_yard: Yard, fake_bench: FakeBench
) -> None:
    machine = fake_yard.machine()
    host = fake_bench.host(machine.domain.host)

    def hold(_name: str) -> None:
        if len(host.called("createWithFlags")) < 3:
            raise Fault("OPERATION_TIMEOUT", "Timed out during operation: cannot acquire state change lock")

    host.hooks["createWithFlags"] = hold
    fake_yard.boot(machine.domain)
    assert fake_yard.power(machine.domain) == "on"


# ---- copies of disks in use -----------------------------------------------------------------------------------------


def test_a_copy_that_outlives_its_process_is_broken_off_and_made_anew(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine, order = fake_yard.machine(on=True), fake_yard.order()
    ref = BackupRef(machine.domain.host, fake_yard.number())
    domain, dead = fake_bench.domain(machine.domain), fake_bench.start()
    domain.stays = True
    with fake_bench.stalled(dead, 2):
        dead.ensure_backup(ref, machine.disks, order)
        assert domain.copying != virt.VIR_DOMAIN_JOB_NONE
        fake_yard.done(lambda: fake_yard.driver.ensure_backup(ref, machine.disks, order))
    saved = f"bk{ref.id}-d{machine.root.id}.qcow2"
    assert saved in fake_bench.hand.hosts_client.client(ref.host).listed()


def test_two_processes_that_copy_a_machine_do_not_break_each_other_off(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine = fake_yard.machine(on=True)
    first, second = (BackupRef(machine.domain.host, fake_yard.number()) for _ in range(2))
    orders, domain = (fake_yard.order(), fake_yard.order()), fake_bench.domain(machine.domain)
    domain.stays = True
    host = fake_bench.host(machine.domain.host)
    looked, other = threading.Event(), fake_bench.start()
    assert not fake_yard.driver.ensure_backup(first, machine.disks, orders[0]).done
    host.until_called("backupBegin")
    before = len(host.called("jobStats"))
    host.hooks["jobStats"] = lambda _: looked.set() if len(host.called("jobStats")) > before + 1 else None
    assert not other.ensure_backup(second, machine.disks, orders[1]).done
    assert looked.wait(PATIENCE), "the second one waits"
    domain.stays = False
    fake_yard.done(lambda: fake_yard.driver.ensure_backup(first, machine.disks, orders[0]))
    fake_yard.done(lambda: fake_yard.driver.ensure_backup(second, machine.disks, orders[1]))
    assert host.called("abortJob") == []


def test_a_guest_does_not_stay_frozen(fake_yard: Yard, fake_bench: FakeBench) -> None:
    """Neither when the answer to the freezing gets lost, nor when a process has died in between."""
    machine = fake_yard.machine(on=True)
    domain, host = fake_bench.domain(machine.domain), fake_bench.host(machine.domain.host)

    def lose_the_answer(_name: str) -> None:
        del host.hooks["after fsFreeze"]
        raise Fault("AGENT_UNRESPONSIVE", "guest agent is not responding")

    host.hooks["after fsFreeze"] = lose_the_answer
    fake_yard.backup(machine)
    assert not domain.frozen
    domain.frozen = True
    fake_yard.backup(machine)
    assert not domain.frozen
    assert len(host.called("after fsFreeze")) == 2, "the second one was of a guest that could be frozen again"


def test_jobs_of_a_process_that_ends_are_taken_over_at_once(fake_yard: Yard, fake_bench: FakeBench) -> None:
    machine, order, ending = fake_yard.machine(on=True), fake_yard.order(), fake_bench.start()
    ref, domain = BackupRef(machine.domain.host, fake_yard.number()), fake_bench.domain(machine.domain)
    domain.stays = True  # a copy that takes long
    assert not ending.ensure_backup(ref, machine.disks, order).done
    fake_bench.host(ref.host).until_called("backupBegin")
    ending._performer.close(0)
    fake_yard.driver.ensure_backup(ref, machine.disks, order)
    with fake_bench.hand._store.reading() as ledger:
        assert ending._performer.owner not in {job.owner for job in ledger.jobs()}
    fake_bench.wait(PATIENCE)
    assert fake_yard.driver.ensure_backup(ref, machine.disks, order).done


# ---- growing --------------------------------------------------------------------------------------------------------


def grown(yard: Yard, disk: DiskRef, size: int) -> str | None:
    order = yard.order(action="disk_resize")
    return yard.finish(lambda: yard.driver.ensure_size(disk, size, order)).failure


def test_growing_that_is_taken_over_grows_all_the_same(fake_yard: Yard, fake_bench: FakeBench) -> None:
    """The first process has made the volume larger: how large the disk was is known from the ledger alone."""
    disk, order, dead = fake_yard.image_disk(fake_yard.host()), fake_yard.order(), fake_bench.start()
    told: list[str] = []
    host = fake_bench.host(disk.host)

    def note(_subject: File, script: str) -> str:
        told.append(script)
        return "rc=0\n"

    host.helper = note
    with fake_bench.stalled(dead, 2):
        dead.ensure_size(disk, 6000, order)
        assert fake_bench.file(disk).capacity == 6000 << 20
        fake_yard.done(lambda: fake_yard.driver.ensure_size(disk, 6000, order))
    assert all("grow_flat" in script for script in told)
    assert told


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        ("rc=8\nthe journal is damaged\n", 4000),
        ("rc=1\nthe file system is about to grow\nresize2fs: input/output error\n", 6000),
        ("", 6000),
    ],
)
def test_a_volume_is_made_smaller_again_only_if_its_file_system_was_left_alone(
    fake_yard: Yard, fake_bench: FakeBench, answer: str, size: int
) -> None:
    disk = fake_yard.image_disk(fake_yard.host())
    host: Any = fake_bench.host(disk.host)

    def fail(subject: File, _script: str) -> str:
        if size == 6000:
            subject.filesystem = subject.capacity
        return answer

    host.helper = fail
    assert grown(fake_yard, disk, 6000) is not None
    file = fake_bench.file(disk)
    assert file.capacity == size << 20
    assert not file.cut
    host.helper = None
    assert grown(fake_yard, disk, 6000) is None
    assert file.filesystem == 6000 << 20
