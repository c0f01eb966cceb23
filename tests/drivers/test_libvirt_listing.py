"""Listing of objects on hosts, and lookalikes that must be ignored. On hosts in memory."""

from __future__ import annotations

import threading

import pytest

from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    FromUpload,
    Progress,
    Refused,
    VolumeRef,
)
from crofter.drivers.hypervisor.ledger import tables as ledger
from tests.drivers.fake_libvirt.harness import PATIENCE, FakeHarness
from tests.drivers.fake_libvirt.storage import File
from tests.drivers.harness import DriverCase, Machine

from crofter.drivers.hypervisor.libvirt import host  # isort: skip - once the binding is there


def test_a_list_tells_what_is_on_hosts_and_not_what_should_be(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    disk, volume = fake_case.empty_disk(fake_case.host()), fake_case.volume()
    files, volumes = _folder(fake_harness, f"/pool/{disk.host}"), _folder(fake_harness, f"/volumes/{volume.region}")
    assert (fake_case.driver.list().disks, fake_case.driver.list().volumes) == ((disk,), (volume,))
    del files[f"d{disk.id}.qcow2"], volumes[f"v{volume.id}.qcow2"]
    files["d4711.qcow2"], volumes["v4712.qcow2"] = File(1), File(1)
    listed = fake_case.driver.list()
    assert (listed.disks, listed.volumes) == ((DiskRef(disk.host, 4711),), (VolumeRef(volume.region, 4712),))


def _folder(harness: FakeHarness, path: str) -> dict[str, File]:
    return harness.fleet.folders[f"{path}/{harness.hand.hosts_client.names.installation}"]


def test_a_backup_of_nothing_but_swap_has_no_file_and_is_there(fake_case: DriverCase) -> None:
    swap = fake_case.empty_disk(fake_case.host(), filesystem="swap")
    ref, order = BackupRef(swap.host, fake_case.number()), fake_case.order()
    fake_case.done(lambda: fake_case.driver.ensure_backup(ref, (swap,), order))
    assert fake_case.driver.list().backups == (ref,)


def test_volumes_of_a_storage_that_nobody_reaches_are_not_listed(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    near, far = fake_case.volume(), fake_case.volume(fake_case.other_region)
    for candidate in fake_case.driver.hosts():
        if candidate.region == near.region:
            fake_harness.unplug(candidate.id)
    assert fake_case.driver.list().volumes == (far,)
    assert fake_case.driver.observe(near).presence == "unknown"


# ---- after an old backup was restored -------------------------------------------------------------------------------


def _forgotten(harness: FakeHarness) -> None:
    """The database is as it was before: nothing of all this is in it."""
    with harness.database.write() as db:
        for table in (ledger.thing, ledger.work):
            db.raw(f"DELETE FROM {table.name}")


def test_no_tenant_is_given_what_another_one_has_on_a_host(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    machine: Machine = fake_case.machine(on=True)
    volume, image, backup = fake_case.volume(), fake_case.image(machine.root), fake_case.backup(machine)
    _forgotten(fake_harness)
    driver, order = fake_case.driver, fake_case.order()
    before = fake_harness.content(machine.root)
    calls = (
        lambda: driver.ensure_domain(machine.domain, DomainSpec(1, 1024), order),
        lambda: driver.ensure_disk(machine.root, DiskSpec(4000), Empty(), order),
        lambda: driver.ensure_volume(volume, 20, Empty(), order),
        lambda: driver.ensure_image(image, FromUpload(__file__, 1, ""), order),
        lambda: driver.ensure_backup(backup, (), order),
    )
    for call in calls:
        with pytest.raises(Refused, match="something else"):
            call()
    assert fake_harness.domain(machine.domain).running is not None
    assert fake_harness.content(machine.root) == before
    free = DomainRef(machine.domain.host, fake_case.number())
    fake_case.done(lambda: driver.ensure_domain(free, DomainSpec(1, 1024), order))


def test_who_comes_a_moment_later_with_the_same_order_finds_no_stranger(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the ledger and its look at the host, another process has begun and ended the same work."""
    ref, order, late = DiskRef(fake_case.host(), fake_case.number()), fake_case.order(), fake_harness.start()
    spec = DiskSpec(100, "raw")
    stored, reached, go_on = host.HostClient.stored, threading.Event(), threading.Event()

    def slow(client: host.HostClient, *, volumes: bool = False) -> list[str]:
        monkeypatch.setattr(host.HostClient, "stored", stored)
        reached.set()
        assert go_on.wait(PATIENCE)
        return stored(client, volumes=volumes)

    monkeypatch.setattr(host.HostClient, "stored", slow)
    reports: list[Progress] = []
    thread = threading.Thread(target=lambda: reports.append(late.ensure_disk(ref, spec, Empty(), order)))
    thread.start()
    assert reached.wait(PATIENCE)
    fake_case.done(lambda: fake_case.driver.ensure_disk(ref, spec, Empty(), order))
    go_on.set()
    thread.join(PATIENCE)
    assert [progress.done for progress in reports] == [True]
