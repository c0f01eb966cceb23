"""What is there by the ledger. Reads only."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Absent
from crofter.drivers.hypervisor.ledger.scene import Scene, VolumeAt
from crofter.drivers.hypervisor.ledger.things import Backup, D, Disk, Domain, Image, Thing, Volume
from crofter.drivers.hypervisor.reports import (
    Inventory,
    ObservedBackup,
    ObservedDisk,
    ObservedDomain,
    ObservedImage,
    ObservedVolume,
    Presence,
)
from crofter.drivers.hypervisor.specs import BackupRef, DiskRef, DomainRef, ImageRef, Ref, VolumeRef

POINTS = 10_000
"""The most points of a history that are given out at once."""


def _seen(scene: Scene, thing: Thing[D] | None, ref: Ref) -> Thing[D] | Presence:
    """The thing, or why there is nothing to tell about it. A host that is away hides even what is not there."""
    there = thing is not None and thing.doc is not None
    host = thing.host if thing is not None and there else ref.host
    if not scene.fleet.reachable(scene.world, host):
        return "unknown"
    return thing if thing is not None and there else "absent"


def domain(scene: Scene, ref: DomainRef) -> ObservedDomain:
    seen = _seen(scene, scene.find(Domain, ref.id), ref)
    if not isinstance(seen, Thing):
        return ObservedDomain(ref, "unknown" if seen == "unknown" else "absent")
    doc = seen.doc
    assert doc is not None
    return ObservedDomain(
        replace(ref, host=seen.host),
        "on" if doc.on else "off",
        doc.reason,
        doc.since,
        doc.spec,
        doc.active,
        doc.resumes,
        seen.host in scene.world.maintenance,
        seen.due is not None,
        doc.plugged,
    )


def disk(scene: Scene, ref: DiskRef) -> ObservedDisk:
    seen = _seen(scene, scene.find(Disk, ref.id), ref)
    if not isinstance(seen, Thing):
        return ObservedDisk(ref, seen)
    doc = seen.doc
    assert doc is not None
    return ObservedDisk(
        replace(ref, host=seen.host),
        _presence(seen, ready=doc.ready),
        doc.size,
        doc.used,
        doc.filesystem,
        scene.user(seen) is not None,
        doc.content if doc.ready else None,
        seen.due is not None,
    )


def backup(scene: Scene, ref: BackupRef) -> ObservedBackup:
    seen = _seen(scene, scene.find(Backup, ref.id), ref)
    if not isinstance(seen, Thing):
        return ObservedBackup(ref, seen)
    doc = seen.doc
    assert doc is not None
    return ObservedBackup(replace(ref, host=seen.host), _presence(seen, ready=doc.ready), doc.disks)


def volume(scene: Scene, ref: VolumeRef, at: VolumeAt) -> ObservedVolume:
    seen = _seen(scene, scene.find(Volume, at.id), at)
    if not isinstance(seen, Thing):
        return ObservedVolume(ref, seen)
    doc, user = seen.doc, scene.volume_user(seen)
    assert doc is not None
    return ObservedVolume(
        ref,
        _presence(seen, ready=doc.ready),
        doc.size,
        None if user is None else user.id,
        doc.content if doc.ready else None,
        seen.due is not None,
    )


def image(scene: Scene, ref: ImageRef) -> ObservedImage:
    seen = _seen(scene, scene.find(Image, ref.id), ref)
    if not isinstance(seen, Thing):
        return ObservedImage(ref, seen)
    doc = seen.doc
    assert doc is not None
    content = doc.content if doc.ready else None
    return ObservedImage(replace(ref, host=seen.host), _presence(seen, ready=doc.ready), doc.size, content)


def _presence(thing: Thing[D], *, ready: bool) -> Presence:
    if thing.due is not None and thing.becomes is None:
        return "leaving"
    return "ready" if ready else "making"


def inventory(scene: Scene, host: int | None) -> Inventory:
    away = scene.fleet.away(scene.world)
    if host is not None:
        away &= {host}
    return Inventory(
        tuple(DomainRef(thing.host, thing.id) for thing in scene.all(Domain, host) if thing.host not in away),
        tuple(DiskRef(thing.host, thing.id) for thing in scene.all(Disk, host) if thing.host not in away),
        tuple(BackupRef(thing.host, thing.id) for thing in scene.all(Backup, host) if thing.host not in away),
        tuple(sorted(away)),
        () if host is not None else tuple(_volumes(scene)),
        tuple(ImageRef(thing.host, thing.id) for thing in scene.all(Image, host) if thing.host not in away),
    )


def _volumes(scene: Scene) -> Iterator[VolumeRef]:
    for thing in scene.all(Volume):
        region = scene.fleet.region(thing.host)
        if region is not None and scene.fleet.reachable(scene.world, thing.host):
            yield VolumeRef(region, thing.id)


def measured(scene: Scene, ref: DomainRef) -> Domain:
    thing = scene.find(Domain, ref.id)
    scene.fleet.must_reach(scene.world, ref.host if thing is None else thing.host)
    if thing is None or thing.doc is None:
        raise Absent(f"There is no domain {ref.id}.")
    return thing.doc
