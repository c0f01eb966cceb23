"""Machines that come to a halt while they start: helper systems are started again, a boot fails. On hosts in memory."""

from __future__ import annotations

from typing import Any

import pytest

from crofter.drivers.hypervisor import DiskRef
from crofter.drivers.hypervisor.libvirt import helper, machine_jobs, watching
from crofter.drivers.hypervisor.libvirt.connections import in_daemon_thread
from tests.drivers.fake_libvirt.harness import FakeHarness
from tests.drivers.fake_libvirt.host import FakeHost
from tests.drivers.fake_libvirt.machines import FakeDomain
from tests.drivers.fake_libvirt.module import Fault
from tests.drivers.harness import DriverCase
from tests.resources.followers import eventually

STARTED = "createXML helper"


@pytest.fixture
def disk(fake_case: DriverCase) -> DiskRef:
    return fake_case.image_disk(fake_case.host())


@pytest.fixture
def host(fake_harness: FakeHarness, disk: DiskRef) -> FakeHost:
    """Return the disk's host, without calls so far."""
    made = fake_harness.host(disk.host)
    made.calls.clear()
    return made


@pytest.fixture(autouse=True)
def starts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Helper systems get little time; and how much each of them got."""
    monkeypatch.setattr(helper, "STARTS", 0.1)
    monkeypatch.setattr(helper, "LIMIT", 60.0)
    given: list[float] = []

    def noted(host: Any, seconds: float, look: Any) -> Any:
        given.append(seconds)
        return watching.watched(host, seconds, look)

    monkeypatch.setattr(helper, "watched", noted)
    return given


def failure(case: DriverCase, disk: DiskRef) -> str | None:
    """Return the failure of enlarging the disk, which uses a helper system."""
    order = case.order(action="disk_resize")
    return case.finish(lambda: case.driver.ensure_size(disk, 6000, order)).failure


def test_a_helper_that_never_begins_is_started_again(
    fake_case: DriverCase, disk: DiskRef, host: FakeHost, starts: list[float]
) -> None:
    host.halting_helpers = ["starting", "booting"]
    assert failure(fake_case, disk) is None
    assert starts == [0.1, 0.1, 60.0], "the last one may be slow"
    assert not any(domain.running for domain in host.domains.values() if "-job-" in domain.name)


def test_one_helper_after_the_other_comes_to_a_halt(
    fake_case: DriverCase, disk: DiskRef, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper, "LIMIT", 3.0)
    host.halting_helpers = ["booting", "starting", "starting"]
    assert failure(fake_case, disk) is not None
    assert len(host.called(STARTED)) == 3


def test_a_helper_that_has_begun_is_left_in_peace(
    fake_case: DriverCase, disk: DiskRef, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed over long work, it would begin anew, and never come to its end."""
    monkeypatch.setattr(helper, "LIMIT", 1.0)
    host.halting_helpers = ["working"]
    assert failure(fake_case, disk) is not None
    assert len(host.called(STARTED)) == 1


def test_a_helper_that_was_killed_over_its_script_is_started_again(
    fake_case: DriverCase, disk: DiskRef, host: FakeHost
) -> None:
    host.helper = lambda _subject, script: helper.BEGUN if len(host.called(STARTED)) < 3 else "rc=0\n"
    assert failure(fake_case, disk) is None
    assert len(host.called(STARTED)) == 3


def test_scripts_begin_by_saying_so(fake_case: DriverCase, disk: DiskRef, host: FakeHost) -> None:
    scripts: list[str] = []

    def note(_subject: Any, script: str) -> str:
        scripts.append(script)
        return "rc=0\n"

    host.helper = note
    assert failure(fake_case, disk) is None
    (script,) = scripts
    assert script.startswith('echo begun | dd of="$D_sdc"')


def test_what_libvirt_refuses_is_not_taken_for_a_halt(fake_case: DriverCase, disk: DiskRef, host: FakeHost) -> None:
    def refuse(_name: str) -> None:
        raise Fault("CONFIG_UNSUPPORTED", "no such machine")

    host.hooks[STARTED] = refuse
    assert failure(fake_case, disk) is not None
    assert len(host.called(STARTED)) == 1


def test_the_helper_of_a_successor_is_not_ended(fake_case: DriverCase, disk: DiskRef, host: FakeHost) -> None:
    """Keep the name: the process that takes over a job ends its helper and starts another."""
    host.halting_helpers = ["booting"]
    left: list[bool] = []

    def take_over(identity: str) -> None:
        del host.hooks["lookupByUUIDString"]
        (halted,) = [domain for domain in host.domains.values() if identity in domain.described]
        own, halted.described = halted.described, halted.described.replace(identity, "of-a-successor")
        in_daemon_thread(lambda: look_later(halted, own))

    def look_later(halted: FakeDomain, own: str) -> None:
        eventually(lambda: len(host.called("lookupByUUIDString")) > 1)  # not found, and searched again
        left.append(halted.running is not None)
        halted.described = own

    host.hooks["lookupByUUIDString"] = take_over
    assert failure(fake_case, disk) is None
    assert left == [True]


def test_a_boot_fails_when_qemu_does_not_answer(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_jobs, "STARTS", 0.1)
    machine = fake_case.machine()
    host = fake_harness.host(machine.domain.host)

    def halt(name: str) -> None:
        eventually(lambda: host.domains[name].running is None)

    host.hooks["starting"] = halt
    order = fake_case.order(action="compute_boot")
    ended = fake_case.finish(lambda: fake_case.driver.ensure_running(machine.domain, order))
    assert ended.failure == "The host did not start the machine in time."
    assert fake_case.driver.observe(machine.domain).power == "off"
    del host.hooks["starting"]
    fake_case.boot(machine.domain)
