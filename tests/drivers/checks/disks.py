"""Disks, backups and moves: bytes stay what they were, and nothing is done to a disk in use."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import (
    Absent,
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    Empty,
    FromBackup,
    FromDisk,
    Refused,
    Seed,
    Source,
)
from tests.drivers.bench import IMAGE, Yard


def _copy(yard: Yard, source: Source, host: int, size: int = 4000) -> DiskRef:
    ref, order = DiskRef(host, yard.number()), yard.order(action="disk_duplicate")
    yard.done(lambda: yard.driver.ensure_disk(ref, DiskSpec(size), source, order))
    return ref


def _seed(yard: Yard, disk: DiskRef) -> None:
    order = yard.order(action="password_reset")
    yard.done(lambda: yard.driver.ensure_seed(disk, Seed(password="another-pass-phrase"), order))


def a_disk_is_being_made_until_it_is_ready(yard: Yard) -> None:
    ref, order = DiskRef(yard.host(), yard.number()), yard.order(action="disk_create")
    assert yard.driver.observe(ref).presence == "absent"
    begun = yard.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order)
    if not begun.done:
        assert yard.driver.observe(ref).presence == "making"
        with pytest.raises(Refused):
            yard.driver.ensure_size(ref, 5000, yard.order())
        order = yard.order(action="disk_create")  # which has given up the first making
    yard.done(lambda: yard.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order))
    seen = yard.driver.observe(ref)
    assert (seen.presence, seen.size, seen.in_use) == ("ready", 4000, False)
    assert 0 < seen.used <= IMAGE.minimum


def a_disk_too_small_for_its_image_is_refused(yard: Yard) -> None:
    ref = DiskRef(yard.host(), yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(IMAGE.minimum - 1), IMAGE, yard.order())
    assert yard.driver.observe(ref).presence == "absent"


def a_number_that_is_taken_is_not_made_otherwise(yard: Yard) -> None:
    ref = yard.empty_disk(yard.host(), 100)
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(200), Empty(), yard.order())
    assert yard.driver.observe(ref).size == 100


def a_disk_in_use_is_not_resized_and_keeps_its_size(yard: Yard) -> None:
    machine = yard.machine(on=True)
    assert yard.driver.observe(machine.root).in_use
    with pytest.raises(Refused):
        yard.driver.ensure_size(machine.root, 8000, yard.order(action="disk_resize"))
    yard.bench.wait(30)
    assert yard.driver.observe(machine.root).size == 4000
    spare = yard.empty_disk(machine.domain.host)
    order = yard.order(action="disk_resize")
    yard.done(lambda: yard.driver.ensure_size(spare, 700, order))
    assert yard.driver.observe(spare).size == 700


def a_disk_in_use_is_neither_written_nor_deleted(yard: Yard) -> None:
    machine = yard.machine(on=True)
    with pytest.raises(Refused):
        yard.driver.ensure_seed(machine.root, Seed(password="another-pass-phrase"), yard.order())
    with pytest.raises(Refused):
        yard.driver.ensure_gone(machine.root, yard.order())
    assert yard.driver.observe(machine.root).presence == "ready"


def a_disk_is_in_use_from_the_moment_its_machine_boots(yard: Yard) -> None:
    machine = yard.machine()
    yard.driver.ensure_running(machine.domain, yard.order())
    with pytest.raises(Refused):
        yard.driver.ensure_size(machine.root, 8000, yard.order())


def a_machine_does_not_boot_from_a_disk_that_is_worked_on(yard: Yard) -> None:
    machine = yard.machine()
    if not yard.driver.ensure_size(machine.root, 8000, yard.order()).done:
        with pytest.raises(Refused):
            yard.driver.ensure_running(machine.domain, yard.order())
        assert yard.power(machine.domain) == "off"


def a_disk_cannot_shrink_below_what_its_files_need(yard: Yard) -> None:
    disk = yard.image_disk(yard.host())
    used = yard.driver.observe(disk).used
    with pytest.raises(Refused):
        yard.driver.ensure_size(disk, used - 1, yard.order())
    assert yard.driver.observe(disk).size == 4000
    order = yard.order(action="disk_resize")
    yard.done(lambda: yard.driver.ensure_size(disk, IMAGE.minimum, order))
    seen = yard.driver.observe(disk)
    assert seen.size == IMAGE.minimum
    assert seen.used == used if yard.bench.is_exact else 0 < seen.used <= seen.size


def a_clone_has_the_same_bytes_and_a_life_of_its_own(yard: Yard) -> None:
    disk = yard.image_disk(yard.host())
    _seed(yard, disk)
    before = yard.bench.content(disk)
    near = _copy(yard, FromDisk(disk), disk.host)
    far = _copy(yard, FromDisk(disk), yard.host(yard.other_region))
    assert before == yard.bench.content(near) == yard.bench.content(far)
    _seed(yard, near)
    assert yard.bench.content(near) != before
    assert before == yard.bench.content(disk) == yard.bench.content(far)
    with pytest.raises(Refused):
        yard.driver.ensure_disk(DiskRef(disk.host, yard.number()), DiskSpec(3999), FromDisk(disk), yard.order())


def a_backup_of_a_running_machine_is_restored_byte_for_byte(yard: Yard) -> None:
    machine = yard.machine()
    original = yard.bench.content(machine.root)
    yard.boot(machine.domain)
    backup = yard.backup(machine)
    saved = yard.driver.observe(backup)
    assert saved.presence == "ready"
    assert [(saved_disk.disk, saved_disk.size) for saved_disk in saved.disks] == [
        (machine.root.id, 4000),
        (machine.swap.id, 512),
    ]
    assert saved.disks[0].used > 0 == saved.disks[1].used, "a swap disk has nothing to save"
    yard.shut_down(machine.domain)
    _seed(yard, machine.root)
    yard.remove(machine.domain)
    yard.remove(machine.root)
    restored = _copy(yard, FromBackup(backup, machine.root.id), machine.domain.host)
    assert yard.bench.content(restored) == original
    ref = DiskRef(machine.domain.host, yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(4000), FromBackup(backup, restored.id), yard.order())


def a_backup_that_is_not_there_restores_nothing(yard: Yard) -> None:
    ref, backup = DiskRef(yard.host(), yard.number()), BackupRef(yard.host(), yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(4000), FromBackup(backup, 1), yard.order())
    assert yard.driver.observe(ref).presence == "absent"


def a_machine_moves_with_all_its_disks(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order(action="compute_migrate_datacenter")
    to, bytes_before = yard.host(yard.other_region), yard.bench.content(machine.root)
    begun = yard.driver.ensure_moved(machine.domain, to, machine.disks, order)
    if not begun.done:
        assert begun.rate is None or begun.rate > 0
        assert yard.driver.observe(machine.domain).ref == machine.domain
    yard.done(lambda: yard.driver.ensure_moved(machine.domain, to, machine.disks, order))
    domain = replace(machine.domain, host=to)
    root, swap = (replace(ref, host=to) for ref in machine.disks)
    assert yard.driver.observe(machine.domain).ref == domain
    assert yard.bench.content(root) == bytes_before
    listed = yard.driver.list(to)
    assert (listed.domains, listed.disks) == ((domain,), (root, swap))
    assert yard.driver.list(machine.domain.host).disks == ()
    yard.boot(domain)


def a_running_machine_does_not_move(yard: Yard) -> None:
    machine = yard.machine(on=True)
    with pytest.raises(Refused):
        yard.driver.ensure_moved(machine.domain, yard.host(yard.other_region), machine.disks, yard.order())


def a_running_machine_moves_live_and_runs_on(yard: Yard) -> None:
    machine, order = yard.machine(on=True), yard.order(action="compute_leave_host")
    to, since = yard.host(avoid=machine.domain.host), yard.driver.observe(machine.domain).since
    yard.done(lambda: yard.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    domain = replace(machine.domain, host=to)
    root, swap = (replace(ref, host=to) for ref in machine.disks)
    seen = yard.driver.observe(machine.domain)
    assert (seen.ref, seen.power, seen.since, seen.active) == (domain, "on", since, machine.spec)
    listed, left = yard.driver.list(to), yard.driver.list(machine.domain.host)
    assert (listed.domains, listed.disks) == ((domain,), (root, swap))
    assert (left.domains, left.disks) == ((), ())
    assert yard.driver.changes(0) == ()
    with pytest.raises(Refused):
        yard.driver.ensure_size(root, 5000, yard.order())
    yard.shut_down(domain)
    yard.boot(domain)


def a_machine_that_is_off_moves_live_like_any_other(yard: Yard) -> None:
    machine, order = yard.machine(), yard.order()
    to, bytes_before = yard.host(avoid=machine.domain.host), yard.bench.content(machine.root)
    yard.done(lambda: yard.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert yard.driver.observe(machine.domain).power == "off"
    assert yard.bench.content(replace(machine.root, host=to)) == bytes_before


def a_running_machine_moves_live_with_its_volume(yard: Yard) -> None:
    machine, volume, order = yard.machine(on=True), yard.volume(), yard.order()
    yard.attach(machine.domain, volume)
    to = yard.host(avoid=machine.domain.host)
    yard.done(lambda: yard.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert yard.driver.observe(machine.domain).volumes == (volume.id,)
    assert yard.driver.observe(volume).user == machine.domain.id
    detach = yard.order()
    yard.done(lambda: yard.driver.ensure_detached(replace(machine.domain, host=to), volume, detach))


def a_running_machine_does_not_leave_its_region(yard: Yard) -> None:
    machine = yard.machine(on=True)
    with pytest.raises(Refused):
        yard.driver.ensure_moved(machine.domain, yard.host(yard.other_region), machine.disks, yard.order(), live=True)


def _shut_down_where_it_is(yard: Yard, domain: DomainRef) -> DomainRef:
    """A move may come to its end between the look and the order, which then names a host that it has left."""
    ref = yard.driver.observe(domain).ref
    order = yard.order("off", action="compute_shutdown")
    try:
        yard.driver.ensure_off(ref, order, grace=30)
    except Absent:
        left, ref = ref, yard.driver.observe(domain).ref
        assert ref.host != left.host
    yard.done(lambda: yard.driver.ensure_off(ref, order, grace=30))
    return ref


def a_live_move_that_is_given_up_leaves_machine_and_disks_together(yard: Yard) -> None:
    machine = yard.machine(on=True)
    to = yard.host(avoid=machine.domain.host)
    yard.driver.ensure_moved(machine.domain, to, machine.disks, yard.order(), live=True)
    ref_now = _shut_down_where_it_is(yard, machine.domain)
    yard.bench.wait(60)
    assert {yard.driver.observe(ref).ref.host for ref in machine.disks} == {ref_now.host}
    assert yard.driver.list(to if ref_now.host != to else machine.domain.host).domains == ()
    yard.boot(ref_now)


def a_move_that_is_given_up_leaves_machine_and_disks_together(yard: Yard) -> None:
    machine, to = yard.machine(), yard.host(yard.other_region)
    yard.driver.ensure_moved(machine.domain, to, machine.disks, yard.order())
    ref_now = yard.driver.observe(machine.domain).ref
    order = yard.order()
    yard.done(lambda: yard.driver.ensure_running(ref_now, order))
    yard.bench.wait(60)
    assert {yard.driver.observe(ref).ref.host for ref in machine.disks} == {ref_now.host}


def a_deletion_in_the_middle_of_a_move_leaves_nothing_anywhere(yard: Yard) -> None:
    machine, to = yard.machine(), yard.host(yard.other_region)
    begun = yard.driver.ensure_moved(machine.domain, to, machine.disks, yard.order())
    yard.bench.wait(begun.remaining / 2)
    yard.remove(machine.domain)
    for ref in machine.disks:
        yard.bench.wait(begun.remaining)
        yard.remove(ref)
    for host in (machine.domain.host, to):
        listed = yard.driver.list(host)
        assert (listed.domains, listed.disks) == ((), ())
