"""Every verb of the contract, set up so that a check can order it and see whether it holds."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    Empty,
    FromBackup,
    FromDisk,
    FromImage,
    FromVolume,
    Hypervisor,
    ImageRef,
    Network,
    Order,
    Progress,
    Rule,
    Seed,
    VolumeRef,
)
from tests.drivers.harness import IMAGE, DriverCase

Call = Callable[[Hypervisor, Order], Progress]


class Ordered(Struct, frozen=True):
    """A verb with all its arguments but the order, and how to see that its work was done."""

    call: Call
    holds: Callable[[], bool]


def domain(case: DriverCase) -> Ordered:
    machine = case.machine()
    spec = replace(machine.spec, memory=4096)
    return Ordered(
        lambda driver, order: driver.ensure_domain(machine.domain, spec, order),
        lambda: case.driver.observe(machine.domain).spec == spec,
    )


def network(case: DriverCase) -> Ordered:
    machine = case.machine()
    wanted = Network(("203.0.113.7/24",), (Rule("outbound", "DROP", "TCP", "25"),))
    return Ordered(
        lambda driver, order: driver.ensure_network(machine.domain, wanted, order),
        lambda: case.driver.observe(machine.domain).power == "off",
    )


def running(case: DriverCase) -> Ordered:
    machine = case.machine()
    return Ordered(
        lambda driver, order: driver.ensure_running(machine.domain, order),
        lambda: case.driver.observe(machine.domain).active == machine.spec,
    )


def off(case: DriverCase) -> Ordered:
    machine = case.machine(on=True)
    return Ordered(
        lambda driver, order: driver.ensure_off(machine.domain, order, grace=30),
        lambda: case.driver.observe(machine.domain).reason == "ours",
    )


def moved(case: DriverCase) -> Ordered:
    machine = case.machine()
    to = case.host(case.other_region)
    return Ordered(
        lambda driver, order: driver.ensure_moved(machine.domain, to, machine.disks, order),
        lambda: {case.driver.observe(ref).ref.host for ref in machine.disks} == {to},
    )


def moved_live(case: DriverCase) -> Ordered:
    machine = case.machine(on=True)
    to = case.host(avoid=machine.domain.host)
    return Ordered(
        lambda driver, order: driver.ensure_moved(machine.domain, to, machine.disks, order, live=True),
        lambda: [case.driver.observe(machine.root).ref.host, case.driver.observe(machine.domain).ref.host] == [to, to],
    )


def disk(case: DriverCase) -> Ordered:
    ref = DiskRef(case.host(), case.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order),
        lambda: case.driver.observe(ref).presence == "ready",
    )


def disk_from_disk(case: DriverCase) -> Ordered:
    source = case.image_disk(case.host())
    ref = DiskRef(source.host, case.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), FromDisk(source), order),
        lambda: case.harness.content(ref) == case.harness.content(source),
    )


def disk_from_backup(case: DriverCase) -> Ordered:
    machine = case.machine()
    backup = case.backup(machine)
    ref = DiskRef(machine.domain.host, case.number())
    source = FromBackup(backup, machine.root.id)
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), source, order),
        lambda: case.harness.content(ref) == case.harness.content(machine.root),
    )


def size(case: DriverCase) -> Ordered:
    ref = case.image_disk(case.host())
    return Ordered(
        lambda driver, order: driver.ensure_size(ref, 6000, order),
        lambda: case.driver.observe(ref).size == 6000,
    )


def seed(case: DriverCase) -> Ordered:
    ref = case.image_disk(case.host())
    before = case.harness.content(ref)
    written = Seed(password="a-long-pass-phrase", keys=("ssh-ed25519 AAAA alice",), hostname="web")
    return Ordered(
        lambda driver, order: driver.ensure_seed(ref, written, order),
        lambda: case.harness.content(ref) != before,
    )


def backup(case: DriverCase) -> Ordered:
    machine = case.machine(on=True)
    ref = BackupRef(machine.domain.host, case.number())
    return Ordered(
        lambda driver, order: driver.ensure_backup(ref, machine.disks, order),
        lambda: [saved.disk for saved in case.driver.observe(ref).disks] == [disk.id for disk in machine.disks],
    )


def volume(case: DriverCase) -> Ordered:
    ref = VolumeRef(case.region, case.number())
    return Ordered(
        lambda driver, order: driver.ensure_volume(ref, 20, Empty(), order),
        lambda: case.driver.observe(ref).presence == "ready",
    )


def image(case: DriverCase) -> Ordered:
    machine = case.machine(on=True)
    ref = ImageRef(case.host(case.other_region), case.number())
    return Ordered(
        lambda driver, order: driver.ensure_image(ref, FromDisk(machine.root), order),
        lambda: case.driver.observe(ref).presence == "ready",
    )


def volume_from_volume(case: DriverCase) -> Ordered:
    source, ref = case.volume(), VolumeRef(case.region, case.number())
    return Ordered(
        lambda driver, order: driver.ensure_volume(ref, 20, FromVolume(source), order),
        lambda: case.harness.content(ref) == case.harness.content(source),
    )


def disk_from_image(case: DriverCase) -> Ordered:
    source = case.image_disk(case.host())
    kept = case.image(source)
    ref = DiskRef(case.host(case.other_region), case.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(
            ref, DiskSpec(4000), FromImage(f"private/{kept.id}", 4000, kept), order
        ),
        lambda: case.harness.content(ref) == case.harness.content(source),
    )


def grown(case: DriverCase) -> Ordered:
    ref = case.volume()
    return Ordered(
        lambda driver, order: driver.ensure_grown(ref, 30, order),
        lambda: case.driver.observe(ref).size == 30,
    )


def attached(case: DriverCase) -> Ordered:
    machine, ref = case.machine(on=True), case.volume()
    return Ordered(
        lambda driver, order: driver.ensure_attached(machine.domain, ref, order),
        lambda: case.driver.observe(ref).user == machine.domain.id,
    )


def detached(case: DriverCase) -> Ordered:
    machine, ref = case.machine(on=True), case.volume()
    case.attach(machine.domain, ref)
    return Ordered(
        lambda driver, order: driver.ensure_detached(machine.domain, ref, order),
        lambda: case.driver.observe(ref).user is None,
    )


def _gone(case: DriverCase, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef) -> Ordered:
    def holds() -> bool:
        listed = case.driver.list()
        return ref not in (*listed.domains, *listed.disks, *listed.backups, *listed.volumes, *listed.images)

    return Ordered(lambda driver, order: driver.ensure_gone(ref, order), holds)


def domain_gone(case: DriverCase) -> Ordered:
    return _gone(case, case.machine(on=True).domain)


def disk_gone(case: DriverCase) -> Ordered:
    return _gone(case, case.image_disk(case.host()))


def backup_gone(case: DriverCase) -> Ordered:
    return _gone(case, case.backup(case.machine()))


def volume_gone(case: DriverCase) -> Ordered:
    return _gone(case, case.volume())


def image_gone(case: DriverCase) -> Ordered:
    return _gone(case, case.image(case.image_disk(case.host())))


VERBS: tuple[Callable[[DriverCase], Ordered], ...] = (
    domain,
    network,
    running,
    off,
    moved,
    moved_live,
    disk,
    disk_from_disk,
    disk_from_backup,
    size,
    seed,
    backup,
    volume,
    volume_from_volume,
    grown,
    attached,
    detached,
    domain_gone,
    disk_gone,
    backup_gone,
    volume_gone,
    image,
    disk_from_image,
    image_gone,
)
