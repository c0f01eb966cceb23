"""What the verbs about volumes will do to what there is, or why they will not."""

from __future__ import annotations

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused
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
from crofter.drivers.hypervisor.ledger.things import Domain, Thing, Volume, digest

MB = 1024


def make(size: int, source: VolumeAt | None) -> Planner[Volume]:
    """Empty, unless there is a volume to copy."""

    def plan(ledger: Ledger, thing: Thing[Volume], _ends: int) -> Plan:
        old = thing.doc
        if old is not None and old.ready:
            if old.size != size:
                raise Refused(f"Volume {thing.id} exists already, and is another one.")
            return already(Volume, thing)
        new = Volume(size, digest("empty volume")) if source is None else _copied(ledger, size, source)
        amount = 0 if source is None else size * MB
        return Plan((Effect(Volume, replace(thing, doc=new), replace(new, ready=True)),), amount)

    return plan


def _copied(ledger: Ledger, size: int, source: VolumeAt) -> Volume:
    copied = idle_volume(ledger, source, user=None, shared=True).doc
    assert copied is not None
    if size < copied.size:
        raise Refused(f"The volume needs at least {copied.size} GB.")
    return Volume(size, copied.content)


def grow(size: int) -> Planner[Volume]:
    def plan(_ledger: Ledger, thing: Thing[Volume], _ends: int) -> Plan:
        if thing.doc is None or not thing.doc.ready:
            raise Refused(f"Volume {thing.id} is not ready.")
        if size == thing.doc.size:
            return already(Volume, thing)
        if size < thing.doc.size:
            raise Refused(f"The volume has {thing.doc.size} GB, and never becomes smaller.")
        return single_effect(Volume, thing, replace(thing.doc, size=size), amount=(size - thing.doc.size) * MB)

    return plan


def attach(volume: VolumeAt) -> Planner[Domain]:
    def plan(ledger: Ledger, thing: Thing[Domain], _ends: int) -> Plan:
        assert thing.doc is not None
        attached = idle_volume(ledger, volume, user=thing.id)
        if not thing.doc.on:
            # It takes its time all the same: the owner has asked for something.
            return single_effect(Domain, thing, thing.doc)
        if volume.id in thing.doc.plugged:
            return already(Domain, thing)
        becomes = replace(thing.doc, plugged=(*thing.doc.plugged, volume.id))
        return Plan((Effect(Domain, thing, becomes),), marks=(plugged_in(attached, thing.id),))

    return plan


def detach(volume: VolumeAt) -> Planner[Domain]:
    def plan(_ledger: Ledger, thing: Thing[Domain], _ends: int) -> Plan:
        assert thing.doc is not None
        left = tuple(number for number in thing.doc.plugged if number != volume.id)
        return single_effect(Domain, thing, replace(thing.doc, plugged=left))

    return plan


def remove(ledger: Ledger, thing: Thing[Volume], _ends: int) -> Plan:
    if thing.doc is None:
        return already(Volume, thing)
    if (user := ledger.volume_user(thing)) is not None:
        raise Refused(f"The volume is in use by machine {user.id}.")
    return single_effect(Volume, thing, None)
