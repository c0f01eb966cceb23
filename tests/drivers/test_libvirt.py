"""The libvirt driver keeps the contract, on real machines without KVM: all of it in a soak, the quick part always."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crofter.cli import host_certificates
from crofter.db import Database, open_database
from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.contract import CHECKS
from tests.drivers.harness import DriverCase
from tests.drivers.interruptions import EACH_HOW, EACH_VERB, Setup, interrupted, interrupting
from tests.drivers.lives import create_store
from tests.drivers.real import MEDIA, short_folder, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
QUICK = (
    "a_machine_is_placed_in_its_region",
    "a_number_that_is_taken_is_not_made_otherwise",
    "a_list_tells_which_hosts_it_could_not_see",
    "no_machine_is_placed_where_it_could_not_run",
    "what_is_not_there_cannot_be_switched",
)
"""Without KVM a guest takes a quarter of a minute to boot. These boot none; the rest is for a soak."""

if why_not() is None:
    from crofter.drivers.hypervisor.libvirt import machine_jobs, migration
    from crofter.drivers.hypervisor.libvirt.binding import virt
    from tests.drivers.libvirt_fleet import Daemons, import_tiny
    from tests.drivers.libvirt_harness import LibvirtHarness


@pytest.fixture(scope="module")
def daemons() -> Iterator[Daemons]:
    import_tiny(MEDIA)
    folder = short_folder()
    running = Daemons(folder, LibvirtHarness.regions, 2)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def store() -> Iterator[Database]:
    opened = open_database(None, None)
    create_store(opened)
    yield opened
    opened.close()


@pytest.fixture
def case(store: Database, daemons: Daemons, monkeypatch: pytest.MonkeyPatch) -> Iterator[DriverCase]:
    daemons.write_down(store)
    # Volumes are in a folder of this machine that all daemons have. libvirt cannot know that they share it.
    monkeypatch.setattr(migration, "FLAGS", migration.FLAGS | virt.VIR_MIGRATE_UNSAFE)
    yield DriverCase(LibvirtHarness(store, daemons))
    daemons.clear()


@pytest.mark.parametrize(
    "check", [check if check in QUICK else pytest.param(check, marks=pytest.mark.soak) for check in CHECKS]
)
def test_the_libvirt_driver_keeps_the_contract(case: DriverCase, check: str) -> None:
    CHECKS[check](case)


@pytest.mark.soak
def test_a_worker_that_stands_still_before_it_starts_a_machine_starts_none_that_was_switched_off(
    case: DriverCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its last look at the ledger and libvirt's call any time may pass, as when a process is stopped."""
    machine, boot = case.machine(), case.order("boot")
    reached, go_on = threading.Event(), threading.Event()
    defined = machine_jobs.put_definition

    class Slow:
        def __init__(self, domain: Any) -> None:
            self._domain = domain

        def createWithFlags(self, flags: int) -> Any:  # noqa: N802 - libvirt's name
            reached.set()
            assert go_on.wait(60)
            return self._domain.createWithFlags(flags)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._domain, name)

    monkeypatch.setattr(machine_jobs, "put_definition", lambda *parts: Slow(defined(*parts)))
    late = case.harness.start()
    late.ensure_running(machine.domain, boot)
    assert reached.wait(30)
    with case.harness.database.write() as db:  # type: ignore[attr-defined]
        db.update(tables.job, {"verb": "running"}, beat=0)  # its process is taken for dead
    case.shut_down(machine.domain)
    go_on.set()
    ends = time.monotonic() + 20
    while case.driver.observe(machine.domain).busy and time.monotonic() < ends:
        time.sleep(0.1)
    time.sleep(2)
    host = late.hosts_client.client(machine.domain.host)  # type: ignore[attr-defined]
    assert not host.domain(machine.domain.id).isActive(), "it was started and destroyed, and never ran"
    assert case.power(machine.domain) == "off"
    assert case.driver.changes(0) == ()


@pytest.mark.soak
def test_a_machine_that_leaves_for_another_host_is_encrypted(
    store: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_certificates.make(tmp_path / "own", "127.0.0.1", tmp_path / "host")
    import_tiny(MEDIA)
    daemons = Daemons(short_folder(), LibvirtHarness.regions, 2, certificates=tmp_path / "host" / "qemu")
    try:
        daemons.write_down(store)
        monkeypatch.setattr(migration, "is_encrypted", lambda _: True)
        case = DriverCase(LibvirtHarness(store, daemons))
        machine, first, second = case.machine(on=True), case.order(), case.order()
        to = case.host(avoid=machine.domain.host)
        missing = daemons.certificates(to).rename(tmp_path / "missing")
        ended = case.finish(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, first, live=True))
        assert ended.failure is not None, "nothing goes over the line in the clear"
        seen = case.driver.observe(machine.domain)
        assert (seen.ref, seen.power) == (machine.domain, "on")
        assert case.driver.list(to).domains == ()
        missing.rename(daemons.certificates(to))
        case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, second, live=True))
        assert case.driver.observe(machine.domain).ref.host == daemons.host_of(f"-i-{machine.domain.id}") == to
    finally:
        daemons.stop()


@pytest.mark.soak
@EACH_VERB
@EACH_HOW
def test_a_job_on_real_hosts_is_interrupted(
    case: DriverCase, verb: Setup, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At two of its calls. All of them, on hosts in memory, are in test_libvirt_interruptions.py."""
    interrupted(case, interrupting(monkeypatch), verb, how, int(os.environ.get("CROFTER_TEST_INTERRUPTIONS", "2")))


@pytest.mark.soak
def test_what_a_dead_process_has_left_on_hosts_is_cleared_away(case: DriverCase) -> None:
    driver: Any = case.harness.start()
    kept = case.empty_disk(case.host())
    host = driver.hosts_client.client(kept.host)
    host.send_bytes("tmp4711-script", b"a password hash")
    host.send_bytes("file-0123456789abcdef", b"a kernel of last year")
    other = driver.hosts_client.client(case.host(case.other_region))
    other.send_bytes(f"d{kept.id}.qcow2", b"moved away from here")
    driver._periodic_work.tidy()
    assert [name for name in host.listed() if not name.startswith("file-")] == [f"d{kept.id}.qcow2"]
    assert "file-0123456789abcdef" not in host.listed()
    assert f"d{kept.id}.qcow2" not in other.listed()
