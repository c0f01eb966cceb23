"""Plans of the verbs on volumes: their changes, or the reason of a refusal."""

from __future__ import annotations

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Domain, Entry, Volume, digest
from crofter.drivers.hypervisor.ledger.ledger import Ledger, VolumeAt
from crofter.drivers.hypervisor.ledger.plans import (
    Effect,
    Plan,
    Planner,
    already,
    idle_volume,
    plugged_in,
    single_effect,
)

MB = 1024


def make(size: int, source: VolumeAt | None) -> Planner[Volume]:
    """Empty, unless there is a volume to copy."""

    def plan(ledger: Ledger, entry: Entry[Volume], _ends: int) -> Plan:
        old = entry.doc
        if old is not None and old.ready:
            if old.size != size:
                raise Refused(f"Volume {entry.id} exists already, and is another one.")
            return already(Volume, entry)
        new = Volume(size, digest("empty volume")) if source is None else _copied(ledger, size, source)
        amount = 0 if source is None else size * MB
        return Plan((Effect(Volume, replace(entry, doc=new), replace(new, ready=True)),), amount)

    return plan


def _copied(ledger: Ledger, size: int, source: VolumeAt) -> Volume:
    copied = idle_volume(ledger, source, user=None, shared=True).doc
    assert copied is not None
    if size < copied.size:
        raise Refused(f"The volume needs at least {copied.size} GB.")
    return Volume(size, copied.content)


def grow(size: int) -> Planner[Volume]:
    def plan(_ledger: Ledger, entry: Entry[Volume], _ends: int) -> Plan:
        if entry.doc is None or not entry.doc.ready:
            raise Refused(f"Volume {entry.id} is not ready.")
        if size == entry.doc.size:
            return already(Volume, entry)
        if size < entry.doc.size:
            raise Refused(f"The volume has {entry.doc.size} GB, and never becomes smaller.")
        return single_effect(Volume, entry, replace(entry.doc, size=size), amount=(size - entry.doc.size) * MB)

    return plan


def attach(volume: VolumeAt) -> Planner[Domain]:
    def plan(ledger: Ledger, entry: Entry[Domain], _ends: int) -> Plan:
        assert entry.doc is not None
        attached = idle_volume(ledger, volume, user=entry.id)
        if not entry.doc.on:
            # Takes the usual time: the owner ordered work.
            return single_effect(Domain, entry, entry.doc)
        if volume.id in entry.doc.plugged:
            return already(Domain, entry)
        becomes = replace(entry.doc, plugged=(*entry.doc.plugged, volume.id))
        return Plan((Effect(Domain, entry, becomes),), marks=(plugged_in(attached, entry.id),))

    return plan


def detach(volume: VolumeAt) -> Planner[Domain]:
    def plan(_ledger: Ledger, entry: Entry[Domain], _ends: int) -> Plan:
        assert entry.doc is not None
        left = tuple(number for number in entry.doc.plugged if number != volume.id)
        return single_effect(Domain, entry, replace(entry.doc, plugged=left))

    return plan


def remove(ledger: Ledger, entry: Entry[Volume], _ends: int) -> Plan:
    if entry.doc is None:
        return already(Volume, entry)
    if (user := ledger.volume_user(entry)) is not None:
        raise Refused(f"The volume is in use by machine {user.id}.")
    return single_effect(Volume, entry, None)
