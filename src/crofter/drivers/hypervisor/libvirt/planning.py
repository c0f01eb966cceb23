"""Checks of this driver before the shared plans: capacity, images, processors."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger import disk_plans, image_plans, plans
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Entry, Image
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.ledger.plans import Effect, Plan, Planner
from crofter.drivers.hypervisor.libvirt.fleet import HostEntry
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger
from crofter.drivers.hypervisor.libvirt.media import Media
from crofter.drivers.hypervisor.reports import ObservedBackup
from crofter.drivers.hypervisor.specs import DiskRef, DiskSpec, DomainRef, DomainSpec, FromImage, ImageSource, Source

SMALLEST_DISK = 1
"""MB. How large the disks of a new machine will be is not known when a host is chosen for it."""


def place(
    ledger: HostLedger, region: str, domain: int, spec: DomainSpec, avoid: int | None, disk: int = SMALLEST_DISK
) -> int:
    reached = [
        host_entry
        for host_entry in ledger.fleet.candidates(region, domain, avoid)
        if ledger.fleet.reachable(ledger.conditions, host_entry.id)
    ]
    for host_entry in reached:
        if _lacks(ledger, host_entry.id, spec.memory, disk, beside=domain) is None:
            return host_entry.id
    if reached:
        # temporary: callers retry, and machines are deleted
        raise Unreachable(f"The hosts of region {region} are full.")
    raise Unreachable(f"No host of region {region} takes a machine now.")


def must_fit(ledger: Ledger, host: int, *, memory: int = 0, disk: int = 0) -> None:
    """Require free capacity in MB on the host. Called under its lock, so that space is never assigned twice."""
    lacking = _lacks(ledger, host, memory, disk)
    if lacking is not None:
        raise Refused(f"The host has no {lacking} left for this.")


def _lacks(ledger: Ledger, host: int, memory: int, disk: int, beside: int | None = None) -> str | None:
    host_entry = _host_entry(ledger, host)
    if memory and used_memory(ledger, host, beside) + memory > host_entry.memory:
        return "memory"
    if disk > 0 and used_disk(ledger, host) + disk > host_entry.disk:
        return "disk space"
    return None


def used_memory(ledger: Ledger, host: int, beside: int | None = None) -> int:
    """MB of all machines that are, or will be, on a host; they must fit even if all are on."""
    memory = 0
    for entry in ledger.all(Domain):
        if entry.id != beside and host in (entry.host, entry.heading) and entry.doc is not None:
            specs = [doc.spec.memory for doc in (entry.doc, entry.becomes) if doc is not None]
            memory += max(specs)
    return memory


def used_disk(ledger: Ledger, host: int) -> int:
    """MB of all disks, backups and images on a host, as large as they may become."""
    disks = sum(
        max(doc.size for doc in (entry.doc, entry.becomes) if doc is not None)
        for entry in ledger.all(Disk)
        if host in (entry.host, entry.heading) and entry.doc is not None
    )
    saved = [_saved(entry.doc) for entry in ledger.all(Backup, host) if entry.doc is not None]
    images = [entry.doc.used for entry in ledger.all(Image, host) if entry.doc is not None]
    return disks + sum(saved) + sum(images)


def _saved(backup: Backup) -> int:
    return sum(disk.used for disk in backup.disks)


def _host_entry(ledger: Ledger, host: int) -> HostEntry:
    assert isinstance(ledger, HostLedger)
    return ledger.fleet.entries[host]


def define(spec: DomainSpec) -> Planner[Domain]:
    def plan(ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
        more = spec.memory - (0 if entry.doc is None else entry.doc.spec.memory)
        if more > 0:
            must_fit(ledger, entry.host, memory=more)
        return plans.define(spec)(ledger, entry, ends)

    return plan


def move(ref: DomainRef, to: int, disks: tuple[DiskRef, ...], *, live: bool) -> Planner[Domain]:
    def plan(ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
        made = plans.move(ref, to, disks, live=live)(ledger, entry, ends)
        if not made.instant and entry.doc is not None:
            moved = sum(effect.entry.doc.size for effect in made.effects if effect.document is Disk)
            must_fit(ledger, to, memory=entry.doc.spec.memory, disk=moved)
        return made

    return plan


def stop(ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
    """Also of a machine that is off by the ledger, if a job is still at it: that may be just about to let it run."""
    assert isinstance(ledger, HostLedger)
    made = plans.stop(ledger, entry, ends)
    key = {(Domain.kind, entry.id)}
    if made.instant and any(job.meets(key, set()) for job in ledger.jobs()):
        return plans.single_effect(Domain, entry, made.effects[0].becomes)
    return made


def resize(size: int) -> Planner[Disk]:
    def plan(ledger: Ledger, entry: Entry[Disk], ends: int) -> Plan:
        made = disk_plans.resize(size)(ledger, entry, ends)
        if not made.instant and entry.doc is not None and size > entry.doc.size:
            must_fit(ledger, entry.host, disk=size - entry.doc.size)
        return made

    return plan


def save(disks: tuple[DiskRef, ...]) -> Planner[Backup]:
    def plan(ledger: Ledger, entry: Entry[Backup], ends: int) -> Plan:
        made = disk_plans.save(disks)(ledger, entry, ends)
        if not made.instant and entry.doc is None:
            must_fit(ledger, entry.host, disk=_saved(made.effects[0].becomes))
        return made

    return plan


def make_image(source: ImageSource) -> Planner[Image]:
    def plan(ledger: Ledger, entry: Entry[Image], ends: int) -> Plan:
        made = image_plans.make(source)(ledger, entry, ends)
        if not made.instant and entry.doc is None:
            must_fit(ledger, entry.host, disk=made.effects[0].becomes.used)
        return made

    return plan


def make_disk(media: Media, ref: DiskRef, spec: DiskSpec, source: Source) -> Planner[Disk]:
    def plan(ledger: Ledger, entry: Entry[Disk], ends: int) -> Plan:
        made = disk_plans.make(spec, source)(ledger, entry, ends)
        if made.instant:
            return made
        host_entry = _host_entry(ledger, ref.host)
        must_fit(ledger, ref.host, disk=spec.size - (0 if entry.doc is None else entry.doc.size))
        if not isinstance(source, FromImage) or source.kept is not None:
            return made
        image = media.image(source.image)
        if image is None:
            raise Refused(f"The image {source.image} is not on this cloud's hosts; its operator can import it.")
        if image.architecture != host_entry.architecture:
            raise Refused(f"The image {source.image} is for another processor than the host has.")
        if spec.size < image.size:
            raise Refused(f"The disk needs at least {image.size} MB.")
        effect = made.effects[0]
        return Plan((_with_used(effect, image.used),), made.amount)

    return plan


def _with_used(effect: Effect, used: int) -> Effect:
    entry = replace(effect.entry, doc=replace(effect.entry.doc, used=used))
    return replace(effect, entry=entry, becomes=replace(effect.becomes, used=used))


def free(planner: Planner[Disk]) -> Planner[Disk]:
    """Work inside a disk: also refused while a machine that is being moved takes the disk along."""

    def plan(ledger: Ledger, entry: Entry[Disk], ends: int) -> Plan:
        if entry.heading is not None:
            raise Refused(f"Disk {entry.id} is being moved.")
        return planner(ledger, entry, ends)

    return plan


def without_content(seen: ObservedBackup) -> ObservedBackup:
    """The fingerprints of the shared plans are those of the simulated hypervisor."""
    disks: tuple[Any, ...] = tuple(replace(disk, content=None) for disk in seen.disks)
    return replace(seen, disks=disks)
