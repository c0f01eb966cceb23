"""What this driver asks before it plans as the simulated one does: capacity, images, processors."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger import disk_plans, plans
from crofter.drivers.hypervisor.ledger.plans import Effect, Plan, Planner
from crofter.drivers.hypervisor.ledger.scene import Scene
from crofter.drivers.hypervisor.ledger.things import Backup, Disk, Domain, Thing
from crofter.drivers.hypervisor.libvirt.books import Books
from crofter.drivers.hypervisor.libvirt.fleet import HostEntry
from crofter.drivers.hypervisor.libvirt.media import Media
from crofter.drivers.hypervisor.reports import ObservedBackup
from crofter.drivers.hypervisor.specs import DiskRef, DiskSpec, DomainSpec, FromImage, Source


def place(scene: Books, region: str, domain: int, spec: DomainSpec, avoid: int | None) -> int:
    reached = [
        entry for entry in scene.fleet.candidates(region, domain, avoid) if scene.fleet.reachable(scene.world, entry.id)
    ]
    for entry in reached:
        if used_memory(scene, entry.id, beside=domain) + spec.memory <= entry.memory:
            return entry.id
    if reached:
        raise Unreachable(f"The hosts of region {region} are full.")  # asked again: machines come and go
    raise Unreachable(f"No host of region {region} takes a machine now.")


def used_memory(scene: Scene, host: int, beside: int | None = None) -> int:
    """MB of all machines that are, or will be, on a host; they must fit even if all are on."""
    memory = 0
    for thing in scene.all(Domain):
        if thing.id != beside and host in (thing.host, thing.heading) and thing.doc is not None:
            specs = [doc.spec.memory for doc in (thing.doc, thing.becomes) if doc is not None]
            memory += max(specs)
    return memory


def used_disk(scene: Scene, host: int, beside: int | None = None) -> int:
    """MB of all disks and backups on a host, as large as they may become."""
    disks = sum(
        max(doc.size for doc in (thing.doc, thing.becomes) if doc is not None)
        for thing in scene.all(Disk)
        if thing.id != beside and host in (thing.host, thing.heading) and thing.doc is not None
    )
    saved = [thing.doc for thing in scene.all(Backup, host) if thing.doc is not None]
    return disks + sum(disk.used for backup in saved for disk in backup.disks)


def _entry(scene: Scene, host: int) -> HostEntry:
    assert isinstance(scene, Books)
    return scene.fleet.entries[host]


def define(spec: DomainSpec) -> Planner[Domain]:
    """Counted under the lock of the host, so that two machines never get the same memory."""

    def plan(scene: Scene, thing: Thing[Domain], ends: int) -> Plan:
        if used_memory(scene, thing.host, beside=thing.id) + spec.memory > _entry(scene, thing.host).memory:
            raise Refused("The host has no memory left for this machine.")
        return plans.define(spec)(scene, thing, ends)

    return plan


def make_disk(media: Media, ref: DiskRef, spec: DiskSpec, source: Source) -> Planner[Disk]:
    def plan(scene: Scene, thing: Thing[Disk], ends: int) -> Plan:
        made = disk_plans.make(spec, source)(scene, thing, ends)
        if made.instant:
            return made
        entry = _entry(scene, ref.host)
        if used_disk(scene, ref.host, beside=thing.id) + spec.size > entry.disk:
            raise Refused("The host has no space left for this disk.")
        if not isinstance(source, FromImage) or source.kept is not None:
            return made
        image = media.image(source.image)
        if image is None:
            raise Refused(f"The image {source.image} is not on this cloud's hosts; its operator can import it.")
        if image.architecture != entry.architecture:
            raise Refused(f"The image {source.image} is for another processor than the host has.")
        if spec.size < image.size:
            raise Refused(f"The disk needs at least {image.size} MB.")
        effect = made.effects[0]
        return Plan((_with_used(effect, image.used),), made.amount)

    return plan


def _with_used(effect: Effect, used: int) -> Effect:
    thing = replace(effect.thing, doc=replace(effect.thing.doc, used=used))
    return replace(effect, thing=thing, becomes=replace(effect.becomes, used=used))


def free(planner: Planner[Disk]) -> Planner[Disk]:
    """Work inside a disk: also refused while a machine that is being moved takes the disk along."""

    def plan(scene: Scene, thing: Thing[Disk], ends: int) -> Plan:
        if thing.heading is not None:
            raise Refused(f"Disk {thing.id} is being moved.")
        return planner(scene, thing, ends)

    return plan


def without_content(seen: ObservedBackup) -> ObservedBackup:
    """The fingerprints of the shared plans are those of the simulated world."""
    disks: tuple[Any, ...] = tuple(replace(disk, content=None) for disk in seen.disks)
    return replace(seen, disks=disks)
