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
from tests.drivers.bench import IMAGE, Yard

Call = Callable[[Hypervisor, Order], Progress]


class Ordered(Struct, frozen=True):
    """A verb with all its arguments but the order, and how to see that its work was done."""

    call: Call
    holds: Callable[[], bool]


def domain(yard: Yard) -> Ordered:
    machine = yard.machine()
    spec = replace(machine.spec, memory=4096)
    return Ordered(
        lambda driver, order: driver.ensure_domain(machine.domain, spec, order),
        lambda: yard.driver.observe(machine.domain).spec == spec,
    )


def network(yard: Yard) -> Ordered:
    machine = yard.machine()
    wanted = Network(("203.0.113.7/24",), (Rule("outbound", "DROP", "TCP", "25"),))
    return Ordered(
        lambda driver, order: driver.ensure_network(machine.domain, wanted, order),
        lambda: yard.driver.observe(machine.domain).power == "off",
    )


def running(yard: Yard) -> Ordered:
    machine = yard.machine()
    return Ordered(
        lambda driver, order: driver.ensure_running(machine.domain, order),
        lambda: yard.driver.observe(machine.domain).active == machine.spec,
    )


def off(yard: Yard) -> Ordered:
    machine = yard.machine(on=True)
    return Ordered(
        lambda driver, order: driver.ensure_off(machine.domain, order, grace=30),
        lambda: yard.driver.observe(machine.domain).reason == "ours",
    )


def moved(yard: Yard) -> Ordered:
    machine = yard.machine()
    to = yard.host(yard.other_region)
    return Ordered(
        lambda driver, order: driver.ensure_moved(machine.domain, to, machine.disks, order),
        lambda: {yard.driver.observe(ref).ref.host for ref in machine.disks} == {to},
    )


def moved_live(yard: Yard) -> Ordered:
    machine = yard.machine(on=True)
    to = yard.host(avoid=machine.domain.host)
    return Ordered(
        lambda driver, order: driver.ensure_moved(machine.domain, to, machine.disks, order, live=True),
        lambda: [yard.driver.observe(machine.root).ref.host, yard.driver.observe(machine.domain).ref.host] == [to, to],
    )


def disk(yard: Yard) -> Ordered:
    ref = DiskRef(yard.host(), yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), IMAGE, order),
        lambda: yard.driver.observe(ref).presence == "ready",
    )


def disk_from_disk(yard: Yard) -> Ordered:
    source = yard.image_disk(yard.host())
    ref = DiskRef(source.host, yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), FromDisk(source), order),
        lambda: yard.bench.content(ref) == yard.bench.content(source),
    )


def disk_from_backup(yard: Yard) -> Ordered:
    machine = yard.machine()
    backup = yard.backup(machine)
    ref = DiskRef(machine.domain.host, yard.number())
    source = FromBackup(backup, machine.root.id)
    return Ordered(
        lambda driver, order: driver.ensure_disk(ref, DiskSpec(4000), source, order),
        lambda: yard.bench.content(ref) == yard.bench.content(machine.root),
    )


def size(yard: Yard) -> Ordered:
    ref = yard.image_disk(yard.host())
    return Ordered(
        lambda driver, order: driver.ensure_size(ref, 6000, order),
        lambda: yard.driver.observe(ref).size == 6000,
    )


def seed(yard: Yard) -> Ordered:
    ref = yard.image_disk(yard.host())
    before = yard.bench.content(ref)
    written = Seed(password="a-long-pass-phrase", keys=("ssh-ed25519 AAAA alice",), hostname="web")
    return Ordered(
        lambda driver, order: driver.ensure_seed(ref, written, order),
        lambda: yard.bench.content(ref) != before,
    )


def backup(yard: Yard) -> Ordered:
    machine = yard.machine(on=True)
    ref = BackupRef(machine.domain.host, yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_backup(ref, machine.disks, order),
        lambda: [saved.disk for saved in yard.driver.observe(ref).disks] == [disk.id for disk in machine.disks],
    )


def volume(yard: Yard) -> Ordered:
    ref = VolumeRef(yard.region, yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_volume(ref, 20, Empty(), order),
        lambda: yard.driver.observe(ref).presence == "ready",
    )


def image(yard: Yard) -> Ordered:
    machine = yard.machine(on=True)
    ref = ImageRef(yard.host(yard.other_region), yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_image(ref, FromDisk(machine.root), order),
        lambda: yard.driver.observe(ref).presence == "ready",
    )


def volume_from_volume(yard: Yard) -> Ordered:
    source, ref = yard.volume(), VolumeRef(yard.region, yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_volume(ref, 20, FromVolume(source), order),
        lambda: yard.bench.content(ref) == yard.bench.content(source),
    )


def disk_from_image(yard: Yard) -> Ordered:
    source = yard.image_disk(yard.host())
    kept = yard.image(source)
    ref = DiskRef(yard.host(yard.other_region), yard.number())
    return Ordered(
        lambda driver, order: driver.ensure_disk(
            ref, DiskSpec(4000), FromImage(f"private/{kept.id}", 4000, kept), order
        ),
        lambda: yard.bench.content(ref) == yard.bench.content(source),
    )


def grown(yard: Yard) -> Ordered:
    ref = yard.volume()
    return Ordered(
        lambda driver, order: driver.ensure_grown(ref, 30, order),
        lambda: yard.driver.observe(ref).size == 30,
    )


def attached(yard: Yard) -> Ordered:
    machine, ref = yard.machine(on=True), yard.volume()
    return Ordered(
        lambda driver, order: driver.ensure_attached(machine.domain, ref, order),
        lambda: yard.driver.observe(ref).user == machine.domain.id,
    )


def detached(yard: Yard) -> Ordered:
    machine, ref = yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, ref)
    return Ordered(
        lambda driver, order: driver.ensure_detached(machine.domain, ref, order),
        lambda: yard.driver.observe(ref).user is None,
    )


def _gone(yard: Yard, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef) -> Ordered:
    def holds() -> bool:
        listed = yard.driver.list()
        return ref not in (*listed.domains, *listed.disks, *listed.backups, *listed.volumes, *listed.images)

    return Ordered(lambda driver, order: driver.ensure_gone(ref, order), holds)


def domain_gone(yard: Yard) -> Ordered:
    return _gone(yard, yard.machine(on=True).domain)


def disk_gone(yard: Yard) -> Ordered:
    return _gone(yard, yard.image_disk(yard.host()))


def backup_gone(yard: Yard) -> Ordered:
    return _gone(yard, yard.backup(yard.machine()))


def volume_gone(yard: Yard) -> Ordered:
    return _gone(yard, yard.volume())


def image_gone(yard: Yard) -> Ordered:
    return _gone(yard, yard.image(yard.image_disk(yard.host())))


VERBS: tuple[Callable[[Yard], Ordered], ...] = (
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
