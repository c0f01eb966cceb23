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
from tests.drivers.harness import IMAGE, DriverCase


def _copy(case: DriverCase, source: Source, host: int, size: int = 4000) -> DiskRef:
    ref, order = DiskRef(host, case.number()), case.order(action="disk_duplicate")
    case.done(lambda: case.driver.ensure_disk(ref, DiskSpec(size), source, order))
    return ref


def _seed(case: DriverCase, disk: DiskRef) -> None:
    order = case.order(action="password_reset")
    case.done(lambda: case.driver.ensure_seed(disk, Seed(password="another-pass-phrase"), order))


def a_disk_is_being_made_until_it_is_ready(case: DriverCase) -> None:
    ref, order = DiskRef(case.host(), case.number()), case.order(action="disk_create")
    assert case.driver.observe(ref).presence == "absent"
    begun = case.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order)
    if not begun.done:
        assert case.driver.observe(ref).presence == "making"
        with pytest.raises(Refused):
            case.driver.ensure_size(ref, 5000, case.order())
        order = case.order(action="disk_create")  # cancels the first creation
    case.done(lambda: case.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order))
    seen = case.driver.observe(ref)
    assert (seen.presence, seen.size, seen.in_use) == ("ready", 4000, False)
    assert 0 < seen.used <= IMAGE.minimum


def a_disk_too_small_for_its_image_is_refused(case: DriverCase) -> None:
    ref = DiskRef(case.host(), case.number())
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(IMAGE.minimum - 1), IMAGE, case.order())
    assert case.driver.observe(ref).presence == "absent"


def a_number_that_is_taken_is_not_made_otherwise(case: DriverCase) -> None:
    ref = case.empty_disk(case.host(), 100)
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(200), Empty(), case.order())
    assert case.driver.observe(ref).size == 100


def a_disk_in_use_is_not_resized_and_keeps_its_size(case: DriverCase) -> None:
    machine = case.machine(on=True)
    assert case.driver.observe(machine.root).in_use
    with pytest.raises(Refused):
        case.driver.ensure_size(machine.root, 8000, case.order(action="disk_resize"))
    case.harness.wait(30)
    assert case.driver.observe(machine.root).size == 4000
    spare = case.empty_disk(machine.domain.host)
    order = case.order(action="disk_resize")
    case.done(lambda: case.driver.ensure_size(spare, 700, order))
    assert case.driver.observe(spare).size == 700


def a_disk_in_use_is_neither_written_nor_deleted(case: DriverCase) -> None:
    machine = case.machine(on=True)
    with pytest.raises(Refused):
        case.driver.ensure_seed(machine.root, Seed(password="another-pass-phrase"), case.order())
    with pytest.raises(Refused):
        case.driver.ensure_gone(machine.root, case.order())
    assert case.driver.observe(machine.root).presence == "ready"


def a_disk_is_in_use_from_the_moment_its_machine_boots(case: DriverCase) -> None:
    machine = case.machine()
    case.driver.ensure_running(machine.domain, case.order())
    with pytest.raises(Refused):
        case.driver.ensure_size(machine.root, 8000, case.order())


def a_machine_does_not_boot_from_a_disk_that_is_worked_on(case: DriverCase) -> None:
    machine = case.machine()
    if not case.driver.ensure_size(machine.root, 8000, case.order()).done:
        with pytest.raises(Refused):
            case.driver.ensure_running(machine.domain, case.order())
        assert case.power(machine.domain) == "off"


def a_disk_cannot_shrink_below_what_its_files_need(case: DriverCase) -> None:
    disk = case.image_disk(case.host())
    used = case.driver.observe(disk).used
    with pytest.raises(Refused):
        case.driver.ensure_size(disk, used - 1, case.order())
    assert case.driver.observe(disk).size == 4000
    order = case.order(action="disk_resize")
    case.done(lambda: case.driver.ensure_size(disk, IMAGE.minimum, order))
    seen = case.driver.observe(disk)
    assert seen.size == IMAGE.minimum
    assert seen.used == used if case.harness.is_exact else 0 < seen.used <= seen.size


def a_clone_has_the_same_bytes_and_a_life_of_its_own(case: DriverCase) -> None:
    disk = case.image_disk(case.host())
    _seed(case, disk)
    before = case.harness.content(disk)
    near = _copy(case, FromDisk(disk), disk.host)
    far = _copy(case, FromDisk(disk), case.host(case.other_region))
    assert before == case.harness.content(near) == case.harness.content(far)
    _seed(case, near)
    assert case.harness.content(near) != before
    assert before == case.harness.content(disk) == case.harness.content(far)
    with pytest.raises(Refused):
        case.driver.ensure_disk(DiskRef(disk.host, case.number()), DiskSpec(3999), FromDisk(disk), case.order())


def a_backup_of_a_running_machine_is_restored_byte_for_byte(case: DriverCase) -> None:
    machine = case.machine()
    original = case.harness.content(machine.root)
    case.boot(machine.domain)
    backup = case.backup(machine)
    saved = case.driver.observe(backup)
    assert saved.presence == "ready"
    assert [(saved_disk.disk, saved_disk.size) for saved_disk in saved.disks] == [
        (machine.root.id, 4000),
        (machine.swap.id, 512),
    ]
    assert saved.disks[0].used > 0 == saved.disks[1].used, "a swap disk has nothing to save"
    case.shut_down(machine.domain)
    _seed(case, machine.root)
    case.remove(machine.domain)
    case.remove(machine.root)
    restored = _copy(case, FromBackup(backup, machine.root.id), machine.domain.host)
    assert case.harness.content(restored) == original
    ref = DiskRef(machine.domain.host, case.number())
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(4000), FromBackup(backup, restored.id), case.order())


def a_backup_that_is_not_there_restores_nothing(case: DriverCase) -> None:
    ref, backup = DiskRef(case.host(), case.number()), BackupRef(case.host(), case.number())
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(4000), FromBackup(backup, 1), case.order())
    assert case.driver.observe(ref).presence == "absent"


def a_machine_moves_with_all_its_disks(case: DriverCase) -> None:
    machine, order = case.machine(), case.order(action="compute_migrate_datacenter")
    to, bytes_before = case.host(case.other_region), case.harness.content(machine.root)
    begun = case.driver.ensure_moved(machine.domain, to, machine.disks, order)
    if not begun.done:
        assert begun.rate is None or begun.rate > 0
        assert case.driver.observe(machine.domain).ref == machine.domain
    case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, order))
    domain = replace(machine.domain, host=to)
    root, swap = (replace(ref, host=to) for ref in machine.disks)
    assert case.driver.observe(machine.domain).ref == domain
    assert case.harness.content(root) == bytes_before
    listed = case.driver.list(to)
    assert (listed.domains, listed.disks) == ((domain,), (root, swap))
    assert case.driver.list(machine.domain.host).disks == ()
    case.boot(domain)


def a_running_machine_does_not_move(case: DriverCase) -> None:
    machine = case.machine(on=True)
    with pytest.raises(Refused):
        case.driver.ensure_moved(machine.domain, case.host(case.other_region), machine.disks, case.order())


def a_running_machine_moves_live_and_runs_on(case: DriverCase) -> None:
    machine, order = case.machine(on=True), case.order(action="compute_leave_host")
    to, since = case.host(avoid=machine.domain.host), case.driver.observe(machine.domain).since
    case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    domain = replace(machine.domain, host=to)
    root, swap = (replace(ref, host=to) for ref in machine.disks)
    seen = case.driver.observe(machine.domain)
    assert (seen.ref, seen.power, seen.since, seen.active) == (domain, "on", since, machine.spec)
    listed, left = case.driver.list(to), case.driver.list(machine.domain.host)
    assert (listed.domains, listed.disks) == ((domain,), (root, swap))
    assert (left.domains, left.disks) == ((), ())
    assert case.driver.changes(0) == ()
    with pytest.raises(Refused):
        case.driver.ensure_size(root, 5000, case.order())
    case.shut_down(domain)
    case.boot(domain)


def a_machine_that_is_off_moves_live_like_any_other(case: DriverCase) -> None:
    machine, order = case.machine(), case.order()
    to, bytes_before = case.host(avoid=machine.domain.host), case.harness.content(machine.root)
    case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert case.driver.observe(machine.domain).power == "off"
    assert case.harness.content(replace(machine.root, host=to)) == bytes_before


def a_running_machine_moves_live_with_its_volume(case: DriverCase) -> None:
    machine, volume, order = case.machine(on=True), case.volume(), case.order()
    case.attach(machine.domain, volume)
    to = case.host(avoid=machine.domain.host)
    case.done(lambda: case.driver.ensure_moved(machine.domain, to, machine.disks, order, live=True))
    assert case.driver.observe(machine.domain).volumes == (volume.id,)
    assert case.driver.observe(volume).user == machine.domain.id
    detach = case.order()
    case.done(lambda: case.driver.ensure_detached(replace(machine.domain, host=to), volume, detach))


def a_running_machine_does_not_leave_its_region(case: DriverCase) -> None:
    machine = case.machine(on=True)
    with pytest.raises(Refused):
        case.driver.ensure_moved(machine.domain, case.host(case.other_region), machine.disks, case.order(), live=True)


def _shut_down_where_it_is(case: DriverCase, domain: DomainRef) -> DomainRef:
    """A move may come to its end between the look and the order, which then names a host that it has left."""
    ref = case.driver.observe(domain).ref
    order = case.order("off", action="compute_shutdown")
    try:
        case.driver.ensure_off(ref, order, grace=30)
    except Absent:
        left, ref = ref, case.driver.observe(domain).ref
        assert ref.host != left.host
    case.done(lambda: case.driver.ensure_off(ref, order, grace=30))
    return ref


def a_live_move_that_is_given_up_leaves_machine_and_disks_together(case: DriverCase) -> None:
    machine = case.machine(on=True)
    to = case.host(avoid=machine.domain.host)
    case.driver.ensure_moved(machine.domain, to, machine.disks, case.order(), live=True)
    ref_now = _shut_down_where_it_is(case, machine.domain)
    case.harness.wait(60)
    assert {case.driver.observe(ref).ref.host for ref in machine.disks} == {ref_now.host}
    assert case.driver.list(to if ref_now.host != to else machine.domain.host).domains == ()
    case.boot(ref_now)


def a_move_that_is_given_up_leaves_machine_and_disks_together(case: DriverCase) -> None:
    machine, to = case.machine(), case.host(case.other_region)
    case.driver.ensure_moved(machine.domain, to, machine.disks, case.order())
    ref_now = case.driver.observe(machine.domain).ref
    order = case.order()
    case.done(lambda: case.driver.ensure_running(ref_now, order))
    case.harness.wait(60)
    assert {case.driver.observe(ref).ref.host for ref in machine.disks} == {ref_now.host}


def a_deletion_in_the_middle_of_a_move_leaves_nothing_anywhere(case: DriverCase) -> None:
    machine, to = case.machine(), case.host(case.other_region)
    begun = case.driver.ensure_moved(machine.domain, to, machine.disks, case.order())
    case.harness.wait(begun.remaining / 2)
    case.remove(machine.domain)
    for ref in machine.disks:
        case.harness.wait(begun.remaining)
        case.remove(ref)
    for host in (machine.domain.host, to):
        listed = case.driver.list(host)
        assert (listed.domains, listed.disks) == ((), ())
