"""Plans of the verbs on disks and backups: their changes, or the reason of a refusal."""

from __future__ import annotations

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Absent, Refused
from crofter.drivers.hypervisor.ledger import image_plans
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Entry, digest, fresh_disk
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.ledger.plans import Effect, Plan, Planner, already, single_effect
from crofter.drivers.hypervisor.reports import SavedDisk
from crofter.drivers.hypervisor.specs import (
    DiskRef,
    DiskSpec,
    Empty,
    FromBackup,
    FromDisk,
    FromImage,
    ImageRef,
    Seed,
    Source,
)


def make(spec: DiskSpec, source: Source) -> Planner[Disk]:
    def plan(ledger: Ledger, entry: Entry[Disk], _ends: int) -> Plan:
        old = entry.doc
        if old is not None and old.ready:
            if (old.size, old.filesystem) != (spec.size, spec.filesystem):
                raise Refused(f"Disk {entry.id} exists already, and is another one.")
            return already(Disk, entry)
        new = _copied(ledger, spec, source)
        amount = 0 if isinstance(source, Empty) else spec.size
        return Plan((Effect(Disk, replace(entry, doc=new), replace(new, ready=True)),), amount)

    return plan


def _copied(ledger: Ledger, spec: DiskSpec, source: Source) -> Disk:
    match source:
        case FromImage(kept=None):
            _fits(spec, source.minimum)
            return fresh_disk(spec, source)
        case FromImage(kept=ImageRef() as kept):
            image = image_plans.ready(ledger, kept)
            _fits(spec, image.size)
            return Disk(spec.size, spec.filesystem, image.used, image.content, image=image.image)
        case Empty():
            _fits(spec, 1)
            return fresh_disk(spec, source)
        case FromDisk():
            copied = ledger.get(Disk, source.disk).doc
            if copied is None or not copied.ready:
                raise Refused(f"Disk {source.disk.id} is not ready.")
            _fits(spec, copied.size)
            return Disk(spec.size, spec.filesystem, copied.used, copied.content, image=copied.image)
        case FromBackup():
            saved = _saved(ledger, source)
            _fits(spec, saved.used)
            return Disk(spec.size, spec.filesystem, saved.used, saved.content or "", image=saved.image)
        case _:
            raise Refused("There is nothing to make the disk from.")


def _saved(ledger: Ledger, source: FromBackup) -> SavedDisk:
    backup = ledger.get(Backup, source.backup).doc
    if backup is None or not backup.ready:
        raise Refused(f"Backup {source.backup.id} is not ready.")
    for saved in backup.disks:
        if saved.disk == source.disk:
            return saved
    raise Absent(f"There is no disk {source.disk} in backup {source.backup.id}.")


def _fits(spec: DiskSpec, needed: int) -> None:
    if spec.size < needed:
        raise Refused(f"The disk needs at least {needed} MB.")


def resize(size: int) -> Planner[Disk]:
    def plan(ledger: Ledger, entry: Entry[Disk], _ends: int) -> Plan:
        disk = _free(ledger, entry)
        if size == disk.size:
            return already(Disk, entry)
        if size < max(disk.used, 1):
            raise Refused(f"The files on the disk need {disk.used} MB.")
        return single_effect(Disk, entry, replace(disk, size=size), amount=max(disk.size, size))

    return plan


def seed(written: Seed, token: str) -> Planner[Disk]:
    def plan(ledger: Ledger, entry: Entry[Disk], _ends: int) -> Plan:
        disk = _free(ledger, entry)
        if disk.filesystem in ("swap", "initrd"):
            raise Refused("There is no system on the disk.")
        # The bytes change, and nothing is kept from which a password could be guessed.
        content = digest("seed", disk.content, token, written.keys, written.hostname)
        return single_effect(Disk, entry, replace(disk, content=content))

    return plan


def _free(ledger: Ledger, entry: Entry[Disk]) -> Disk:
    if entry.doc is None or not entry.doc.ready:
        raise Refused(f"Disk {entry.id} is not ready.")
    if ledger.user(entry) is not None:
        raise Refused(f"Disk {entry.id} is in use.")
    return entry.doc


def save(refs: tuple[DiskRef, ...]) -> Planner[Backup]:
    def plan(ledger: Ledger, entry: Entry[Backup], _ends: int) -> Plan:
        if entry.doc is not None and entry.doc.ready:
            return already(Backup, entry)
        saved = []
        for ref in refs:
            disk = ledger.get(Disk, ref).doc
            if disk is None or not disk.ready:
                raise Refused(f"Disk {ref.id} is not ready.")
            saved.append(SavedDisk(ref.id, disk.size, disk.used, disk.filesystem, disk.content, disk.image))
        backup = Backup(tuple(saved))
        effect = Effect(Backup, replace(entry, doc=backup), replace(backup, ready=True))
        return Plan((effect,), amount=sum(disk.used for disk in saved))

    return plan


def remove(ledger: Ledger, entry: Entry[Disk], _ends: int) -> Plan:
    if entry.doc is None:
        return already(Disk, entry)
    if (user := ledger.user(entry)) is not None:
        raise Refused(f"The disk is in use by machine {user.id}.")
    return single_effect(Disk, entry, None)


def remove_backup(_ledger: Ledger, entry: Entry[Backup], _ends: int) -> Plan:
    return already(Backup, entry) if entry.doc is None else single_effect(Backup, entry, None)
