"""Plans of the verbs: their changes, or the reason of a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Absent, Refused, Stale
from crofter.drivers.hypervisor.ledger.entries import D, Disk, Domain, Entry, Volume, Wiring
from crofter.drivers.hypervisor.ledger.ledger import Ledger, VolumeAt
from crofter.drivers.hypervisor.specs import DiskRef, DomainRef, DomainSpec, Network


class Effect(Struct, frozen=True):
    """A thing as it is while the work goes on, and as it is afterwards; None is gone."""

    document: Any
    entry: Any
    becomes: Any
    heading: int | None = None


class Plan(Struct, frozen=True):
    """The first effect is on the thing that the verb is about."""

    effects: tuple[Effect, ...]
    amount: int = 0
    """MB to copy."""
    instant: bool = False
    """True if the object is in the requested state already."""
    marks: tuple[Effect, ...] = ()
    """Things that are noted down at once, and that stay in the service of whomever they serve."""


Planner = Callable[[Ledger, Entry[D], int], Plan]
"""From the thing, and the moment at which the work will end."""


def already(document: type[D], entry: Entry[D]) -> Plan:
    return Plan((Effect(document, entry, entry.doc),), instant=True)


def single_effect(document: type[D], entry: Entry[D], becomes: D | None, amount: int = 0) -> Plan:
    return Plan((Effect(document, entry, becomes),), amount)


def define(spec: DomainSpec) -> Planner[Domain]:
    def plan(_ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
        if entry.doc is None:
            doc = Domain(spec, since=ends)
            return single_effect(Domain, replace(entry, doc=doc), doc)
        if entry.doc.spec == spec:
            return already(Domain, entry)
        return single_effect(Domain, entry, replace(entry.doc, spec=spec))

    return plan


def wire(ref: DomainRef, network: Network) -> Planner[Wiring]:
    def plan(ledger: Ledger, entry: Entry[Wiring], _ends: int) -> Plan:
        domain = ledger.find(Domain, ref.id)
        if domain is None or domain.doc is None or domain.host != ref.host:
            raise Absent(f"There is no domain {ref.id} on host {ref.host}.")
        before = ledger.find(Wiring, ref.id)  # with what is on its way, which the plan would give up
        for wired in () if before is None else (before.doc, before.becomes):
            if wired is not None and wired.network.generation > network.generation:
                raise Stale(f"Generation {wired.network.generation} of the network has followed {network.generation}.")
        return single_effect(Wiring, replace(entry, doc=entry.doc or Wiring()), Wiring(network))

    return plan


def start(ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
    assert entry.doc is not None
    if entry.doc.on:
        return already(Domain, entry)
    if entry.host in ledger.conditions.maintenance:
        raise Refused("The host is in maintenance.")
    spec = entry.doc.spec
    if not spec.devices and not spec.rescue:
        raise Refused("There is nothing to boot from.")
    marks = []
    for number in spec.disks:
        disk = idle_disk(ledger, DiskRef(entry.host, number), user=entry.id)
        assert disk.doc is not None
        marks.append(Effect(Disk, replace(disk, doc=replace(disk.doc, user=entry.id)), None))
    for number in spec.volumes:
        volume = idle_volume(ledger, VolumeAt(ledger.fleet.storage_beside(entry.host), number), user=entry.id)
        marks.append(plugged_in(volume, entry.id))
    return Plan((Effect(Domain, entry, entry.doc.started(ends)),), marks=tuple(marks))


def stop(_ledger: Ledger, entry: Entry[Domain], ends: int) -> Plan:
    assert entry.doc is not None
    if not entry.doc.on:
        still = replace(entry, doc=entry.doc.stopped(ends, "ours"))
        return already(Domain, still)
    return single_effect(Domain, entry, entry.doc.stopped(ends, "ours"))


def move(ref: DomainRef, to: int, refs: tuple[DiskRef, ...], *, live: bool = False) -> Planner[Domain]:
    def plan(ledger: Ledger, entry: Entry[Domain], _ends: int) -> Plan:
        assert entry.doc is not None
        if entry.host == to:
            return already(Domain, entry)
        if entry.host != ref.host:
            raise Absent(f"There is no domain {ref.id} on host {ref.host}.")
        if entry.doc.on and not live:
            raise Refused("The machine is on.")
        if entry.doc.on and ledger.fleet.region(to) != ledger.fleet.region(entry.host):
            raise Refused("A machine that is on moves within its region only.")
        if entry.doc.on and to in ledger.conditions.maintenance:
            raise Refused("The host is in maintenance.")
        effects = [Effect(Domain, entry, replace(entry.doc, resumes=False), to)]
        for disk_ref in refs:
            disk = idle_disk(ledger, disk_ref, user=entry.id if entry.doc.on else None)
            effects.append(Effect(Disk, disk, disk.doc, to))
        amount = sum(effect.entry.doc.size for effect in effects if effect.document is Disk)
        return Plan(tuple(effects), amount)

    return plan


def remove(ledger: Ledger, entry: Entry[Domain], _ends: int) -> Plan:
    if entry.doc is None:
        return already(Domain, entry)  # written down all the same: a late creation must not bring it back
    effects = [Effect(Domain, entry, None)]
    wiring = ledger.find(Wiring, entry.id)
    if wiring is not None:
        effects.append(Effect(Wiring, wiring, None))
    return Plan(tuple(effects))


def idle_disk(ledger: Ledger, ref: DiskRef, user: int | None = None) -> Entry[Disk]:
    """Return a disk without work in progress and without a machine, except perhaps ``user``."""
    disk = ledger.get(Disk, ref)
    assert disk.doc is not None
    if not disk.doc.ready or disk.due is not None:
        raise Refused(f"Disk {ref.id} is not ready.")
    using = ledger.user(disk)
    if using is not None and using.id != user:
        raise Refused(f"Disk {ref.id} is in use.")
    return disk


def idle_volume(ledger: Ledger, ref: VolumeAt, *, user: int | None, shared: bool = False) -> Entry[Volume]:
    """Return an existing volume that no machine uses, except perhaps ``user``. A growing volume is accepted."""
    volume = ledger.get(Volume, ref)
    leaving = volume.due is not None and volume.becomes is None
    if volume.doc is None or not volume.doc.ready or leaving:
        raise Refused(f"Volume {ref.id} is not ready.")
    using = ledger.volume_user(volume)
    if using is not None and using.id != user and not shared:
        raise Refused(f"Volume {ref.id} is in use.")
    return volume


def plugged_in(volume: Entry[Volume], user: int) -> Effect:
    """Noted in the volume as it is, and as it will be when it has grown."""
    assert volume.doc is not None
    becomes = None if volume.becomes is None else replace(volume.becomes, user=user)
    return Effect(Volume, replace(volume, doc=replace(volume.doc, user=user), becomes=becomes), None)
