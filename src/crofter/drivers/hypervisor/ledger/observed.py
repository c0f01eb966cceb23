"""Observations from the ledger. Read only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Absent
from crofter.drivers.hypervisor.ledger.entries import Backup, D, Disk, Domain, Entry, Image, Volume
from crofter.drivers.hypervisor.ledger.ledger import Ledger, VolumeAt
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


def _seen(ledger: Ledger, document: type[D], ref: Ref) -> tuple[Entry[D], D] | Literal["unknown", "absent"]:
    """Return the object, or the reason why its state is not known. An unreachable host hides absence too."""
    entry = ledger.find(document, ref.id)
    there = None if entry is None or entry.doc is None else (entry, entry.doc)
    host = ref.host if there is None else there[0].host
    if not ledger.fleet.reachable(ledger.conditions, host):
        return "unknown"
    return there or "absent"


def domain(ledger: Ledger, ref: DomainRef) -> ObservedDomain:
    seen = _seen(ledger, Domain, ref)
    if isinstance(seen, str):
        return ObservedDomain(ref, seen)
    entry, doc = seen
    return ObservedDomain(
        replace(ref, host=entry.host),
        "on" if doc.on else "off",
        doc.reason,
        doc.since,
        doc.spec,
        doc.active,
        doc.resumes,
        entry.host in ledger.conditions.maintenance,
        entry.due is not None,
        doc.plugged,
    )


def disk(ledger: Ledger, ref: DiskRef) -> ObservedDisk:
    seen = _seen(ledger, Disk, ref)
    if isinstance(seen, str):
        return ObservedDisk(ref, seen)
    entry, doc = seen
    return ObservedDisk(
        replace(ref, host=entry.host),
        _presence(entry, ready=doc.ready),
        doc.size,
        doc.used,
        doc.filesystem,
        ledger.user(entry) is not None,
        doc.content if doc.ready else None,
        entry.due is not None,
    )


def backup(ledger: Ledger, ref: BackupRef) -> ObservedBackup:
    seen = _seen(ledger, Backup, ref)
    if isinstance(seen, str):
        return ObservedBackup(ref, seen)
    entry, doc = seen
    return ObservedBackup(replace(ref, host=entry.host), _presence(entry, ready=doc.ready), doc.disks)


def volume(ledger: Ledger, ref: VolumeRef, at: VolumeAt) -> ObservedVolume:
    seen = _seen(ledger, Volume, at)
    if isinstance(seen, str):
        return ObservedVolume(ref, seen)
    entry, doc = seen
    user = ledger.volume_user(entry)
    return ObservedVolume(
        ref,
        _presence(entry, ready=doc.ready),
        doc.size,
        None if user is None else user.id,
        doc.content if doc.ready else None,
        entry.due is not None,
    )


def image(ledger: Ledger, ref: ImageRef) -> ObservedImage:
    seen = _seen(ledger, Image, ref)
    if isinstance(seen, str):
        return ObservedImage(ref, seen)
    entry, doc = seen
    content = doc.content if doc.ready else None
    return ObservedImage(replace(ref, host=entry.host), _presence(entry, ready=doc.ready), doc.size, content)


def _presence(entry: Entry[D], *, ready: bool) -> Presence:
    if entry.due is not None and entry.becomes is None:
        return "leaving"
    return "ready" if ready else "making"


def inventory(ledger: Ledger, host: int | None) -> Inventory:
    unreachable = ledger.fleet.unreachable(ledger.conditions)
    if host is not None:
        unreachable &= {host}
    return Inventory(
        tuple(DomainRef(entry.host, entry.id) for entry in ledger.all(Domain, host) if entry.host not in unreachable),
        tuple(DiskRef(entry.host, entry.id) for entry in ledger.all(Disk, host) if entry.host not in unreachable),
        tuple(BackupRef(entry.host, entry.id) for entry in ledger.all(Backup, host) if entry.host not in unreachable),
        tuple(sorted(unreachable)),
        () if host is not None else tuple(_volumes(ledger)),
        tuple(ImageRef(entry.host, entry.id) for entry in ledger.all(Image, host) if entry.host not in unreachable),
    )


def _volumes(ledger: Ledger) -> Iterator[VolumeRef]:
    for entry in ledger.all(Volume):
        region = ledger.fleet.region(entry.host)
        if region is not None and ledger.fleet.reachable(ledger.conditions, entry.host):
            yield VolumeRef(region, entry.id)


def measured(ledger: Ledger, ref: DomainRef) -> Domain:
    entry = ledger.find(Domain, ref.id)
    ledger.fleet.must_reach(ledger.conditions, ref.host if entry is None else entry.host)
    if entry is None or entry.doc is None:
        raise Absent(f"There is no domain {ref.id}.")
    return entry.doc
