"""Copies of disks of running machines, and their cancellation checks. On hosts in memory."""

from __future__ import annotations

import threading
import time

import pytest

from crofter.drivers.hypervisor import DiskRef, DiskSpec, FromDisk, Progress
from tests.drivers.fake_libvirt.harness import FakeHarness
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.harness import DriverCase

from crofter.drivers.hypervisor.libvirt.volume_transfer import at_most_once_a_second, transfer  # isort: skip - after the binding


@pytest.mark.parametrize("call", ["jobInfo", "jobStats"])
def test_a_machine_is_copied_while_another_copy_of_it_begins_or_ends(
    fake_case: DriverCase, fake_harness: FakeHarness, call: str
) -> None:
    machine = fake_case.machine(on=True)
    host, domain = fake_harness.host(machine.domain.host), fake_harness.domain(machine.domain)
    domain.copying, calls = virt.VIR_DOMAIN_JOB_UNBOUNDED, []

    def have_no_data(name: str) -> None:
        calls.append(name)
        if len(calls) <= 2:
            domain.copying = virt.VIR_DOMAIN_JOB_UNBOUNDED
            raise Fault("INTERNAL_ERROR", "internal error: backup job data missing")

    host.hooks[call] = have_no_data
    backup = fake_case.backup(machine)
    assert len(calls) > 2
    assert fake_case.driver.observe(backup).presence == "ready"


def test_two_disks_of_a_running_machine_are_copied_one_after_the_other(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, steps, second = fake_case.machine(on=True), [], threading.Event()
    host = fake_harness.host(machine.domain.host)

    def begin(_name: str) -> None:
        steps.append("begins")
        if len(steps) > 1:
            second.set()

    def end(_name: str) -> None:
        second.wait(0.3)  # a defect would have begun by then
        steps.append("ends")

    host.hooks |= {"backupBegin": begin, "jobStats": end}
    copies = [DiskRef(machine.domain.host, fake_case.number()) for _ in machine.disks]
    order = fake_case.order()

    def call() -> Progress:
        both = zip(copies, machine.disks, strict=True)
        reports = [fake_case.driver.ensure_disk(new, DiskSpec(4000), FromDisk(old), order) for new, old in both]
        return next((report for report in reports if not report.done), reports[0])

    fake_case.done(call)
    assert steps == ["begins", "ends"] * 2


def test_a_copy_of_which_nobody_knows_how_it_ended_is_made_again(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine = fake_case.machine(on=True)
    domain, host = fake_harness.domain(machine.domain), fake_harness.host(machine.domain.host)
    domain.forgets = True

    def remember(_name: str) -> None:
        domain.forgets = len(host.called("backupBegin")) < 2

    host.hooks["jobStats"] = remember
    assert fake_case.driver.observe(fake_case.backup(machine)).presence == "ready"
    assert len(host.called("backupBegin")) == 2


def test_the_pieces_of_a_copy_are_not_each_asked_for(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    disk = fake_case.empty_disk(fake_case.host(), 100, "raw")
    fake_harness.file(disk).content = b"x" * 3_000_000
    client = fake_harness.hand.hosts_client.client
    target = client(fake_case.host(fake_case.other_region))
    asked: list[None] = []
    transfer(client(disk.host), target, f"d{disk.id}.qcow2", "copy", 100 << 20, lambda: asked.append(None))
    assert len(fake_harness.host(disk.host).called("recv")) > 40
    assert len(asked) <= 3, "seldom on the way, and once at the end"
    assert asked


def test_a_check_that_is_asked_for_again_and_again_is_made_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [10.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    check = at_most_once_a_second(lambda: asked.append(now[0]))
    for _ in range(30):
        now[0] += 0.125
        check()
    assert asked == [11.0, 12.0, 13.0]
