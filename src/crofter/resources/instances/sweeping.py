"""The sweeper: compares what the hosts have with what the database says. It reports, and destroys nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from crofter.context import Context, Runtime
from crofter.db import Row, Session, query
from crofter.db.sql import select, text
from crofter.drivers.hypervisor import BackupRef, DiskRef, DomainRef, ImageRef, ObservedDomain, VolumeRef
from crofter.engine import Nothing, Operation, Sleep, StepContext, admit, enqueue, step
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.errors import Busy
from crofter.resources.images.store import image
from crofter.resources.instances import delete, hypervisor_client, neighbours, states, store, watchdog
from crofter.resources.instances.backups.store import backup
from crofter.resources.instances.capture import receiving
from crofter.resources.instances.capture.operations import DELETE as DELETE_IMAGE
from crofter.resources.instances.capture.operations import IMAGES
from crofter.resources.instances.disks.store import disk
from crofter.resources.instances.looking import LOOK, Args
from crofter.resources.instances.purging import PURGE, PurgeArgs
from crofter.resources.instances.store import instance

log = logging.getLogger("crofter")


class Report(Struct):
    """Differences by names on hosts. Only differences seen twice are reported."""

    orphans: list[str] = []
    """On a host, and not in the database."""
    missing: list[str] = []
    """In the database, and on no host that answers."""
    misplaced: list[str] = []
    """On another host than the database says."""
    stuck: list[int] = []
    """Instances in a transitional status without work in progress."""
    unreachable: list[int] = []
    """Hosts that did not answer; nothing is known about what is there."""


class Entry(Row):
    """A machine, a disk, a backup or an image as the database has it."""

    id: int
    host: int
    instance_id: int
    """The instance that it belongs to; an image belongs to none, and is worked on by itself."""
    state: str


class Inventories(Struct):
    """Everything of one kind as the database has it, and as the hosts have it."""

    kind: type[DomainRef] | type[DiskRef] | type[BackupRef] | type[ImageRef]
    there: str
    """Status in which the object must be on its host."""
    entries: dict[int, Entry]
    leaving: set[int]
    """Objects whose removal is pending."""
    refs: Sequence[hypervisor_client.Ref]
    """Objects on the hosts."""
    key: Callable[[int], str] = states.key
    """Function that returns the queue key of an object."""


_LIVE = state_in(operation, "queued", "running", "waiting")
_LEAVING = query(select(operation.c.input).where(operation.c.kind == PURGE.kind, _LIVE))
_LEAVING_IMAGES = query(select(operation.c.input).where(operation.c.kind == DELETE_IMAGE.operation.kind, _LIVE))
_BUSY = query(select(operation.c.key).where(operation.c.key.is_not(None), _LIVE))
_MOVING = query(select(instance.c.id).where(text(store.MOVING)).order_by(instance.c.id))
_DOMAINS = query(
    select(instance.c.id, instance.c.host, instance.c.id.label("instance_id"), instance.c.status.label("state")).where(
        instance.c.host.is_not(None)
    ),
    Entry,
)
_DISKS = query(
    select(disk.c.id, instance.c.host, disk.c.instance_id, disk.c.status.label("state"))
    .join(instance, instance.c.id == disk.c.instance_id)
    .where(instance.c.host.is_not(None)),
    Entry,
)
_BACKUPS = query(
    select(backup.c.id, backup.c.host, backup.c.instance_id, backup.c.status.label("state")).where(
        backup.c.host.is_not(None)
    ),
    Entry,
)

_IMAGES = query(
    select(image.c.id, image.c.host, image.c.id.label("instance_id"), image.c.status.label("state")).where(
        image.c.host.is_not(None)
    ),
    Entry,
)


def reconcile(runtime: Runtime) -> Report:
    """Compare, log the differences, and queue inspections of stuck instances."""
    report = compare(runtime)
    report.stuck = _attended(runtime, report.stuck)
    for name in ("orphans", "missing", "misplaced", "stuck"):
        if getattr(report, name):
            log.warning("sweep: %s: %s", name, getattr(report, name))
    return report


def compare(runtime: Runtime) -> Report:
    """Only look, and change nothing. What is being made, moved or deleted at this moment is let be."""
    hosts = hypervisor_client.hypervisor(runtime).list()
    with runtime.database.read() as db:
        purges = [msgspec.convert(purge, PurgeArgs) for purge in db.column(_LEAVING)]
        disks = {number for purge in purges for _, number in purge.disks}
        backups = {number for purge in purges for _, number in purge.backups}
        images = {number for purge in purges for _, number in purge.images}
        images |= {removal["image_id"] for removal in db.column(_LEAVING_IMAGES)}
        kinds = (
            Inventories(DomainRef, "running", _by_id(db.all(_DOMAINS)), set(), hosts.domains),
            Inventories(DiskRef, "ready", _by_id(db.all(_DISKS)), disks, hosts.disks),
            Inventories(BackupRef, "successful", _by_id(db.all(_BACKUPS)), backups, hosts.backups),
            Inventories(ImageRef, "available", _by_id(db.all(_IMAGES)), images, hosts.images, IMAGES.key),
        )
        busy = set(db.column(_BUSY))
        stored = neighbours.in_storage(db)
        report = Report(unreachable=list(hosts.unreachable), stuck=_stuck(db, busy))
    again = SecondLook(runtime)
    for both in kinds:
        _compare(again, report, both, busy)
    listed = set(hosts.volumes)
    strays = [ref for ref in sorted(listed - stored.known) if again.is_there(ref)]
    lost = [ref for ref in sorted(stored.expected - listed) if again.is_missing(ref)]
    report.orphans += [f"{ref.name} in region {ref.region}" for ref in strays]
    report.missing += [f"{ref.name} in region {ref.region}" for ref in lost]
    return report


def _by_id(entries: list[Entry]) -> dict[int, Entry]:
    return {entry.id: entry for entry in entries}


def _compare(again: SecondLook, report: Report, both: Inventories, busy: set[str]) -> None:
    for ref in both.refs:
        entry = both.entries.get(ref.id)
        if entry is None:
            if ref.id not in both.leaving and again.is_there(ref):
                report.orphans.append(f"{ref.name} on host {ref.host}")
        elif entry.host != ref.host and both.key(entry.instance_id) not in busy:
            report.misplaced.append(f"{ref.name} on host {ref.host}, not {entry.host}")
    known = {ref.id for ref in both.refs}
    for entry in both.entries.values():
        ref = both.kind(entry.host, entry.id)
        expected = entry.state == both.there and both.key(entry.instance_id) not in busy
        if expected and entry.id not in known and entry.host not in report.unreachable and again.is_missing(ref):
            report.missing.append(f"{ref.name} on host {ref.host}")


class SecondLook:
    """A second listing of the hosts if there are differences: objects may have appeared or gone.

    A list and no single lookups: a driver may answer a lookup from its ledger, but a list only from the hosts.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @cached_property
    def _listed(self) -> set[hypervisor_client.Ref | VolumeRef]:
        hosts = hypervisor_client.hypervisor(self._runtime).list()
        return {*hosts.domains, *hosts.disks, *hosts.backups, *hosts.images, *hosts.volumes}

    def is_there(self, ref: hypervisor_client.Ref | VolumeRef) -> bool:
        return ref in self._listed

    def is_missing(self, ref: hypervisor_client.Ref | VolumeRef) -> bool:
        """Return True if the object is absent. Objects on unreachable hosts are not missing."""
        seen = hypervisor_client.hypervisor(self._runtime).observe(ref)
        unknown = (seen.power if isinstance(seen, ObservedDomain) else seen.presence) == "unknown"
        return not unknown and not self.is_there(ref)


def repair(runtime: Runtime) -> list[int]:
    """Queue an inspection of every instance in a transitional status without work in progress."""
    with runtime.database.read() as db:
        stuck = _stuck(db, set(db.column(_BUSY)))
    return _attended(runtime, stuck)


def _stuck(db: Session, busy: set[str]) -> list[int]:
    return [instance_id for instance_id in db.column(_MOVING) if states.key(instance_id) not in busy]


def _attended(runtime: Runtime, stuck: list[int]) -> list[int]:
    """Return the instances for which an inspection was queued; others have work in progress again."""
    return [instance_id for instance_id in stuck if _look_at(runtime, instance_id)]


def _look_at(runtime: Runtime, instance_id: int) -> bool:
    with runtime.database.write() as db:
        row = store.find_unscoped(Context(runtime, db), instance_id)
        if row is None:
            return False
        ctx = watchdog.system_context(runtime, db, row)
        try:
            admit(ctx, states.key(instance_id))
        except Busy:
            return False
        if row.status == "deleting":
            delete.spare(ctx, instance_id)
        # No job of the owner: it only looks where the machine is, and shows that.
        enqueue(ctx, LOOK, Args(instance_id), key=states.key(instance_id))
        return True


@step(deadline=600)
def attend_changes(work: StepContext) -> Sleep | None:
    watchdog.attend(work.runtime)
    return None


@step(deadline=600)
def free_the_stuck(work: StepContext) -> Sleep | None:
    repair(work.runtime)
    return None


@step(deadline=3600)
def sweep(work: StepContext) -> Sleep | None:
    reconcile(work.runtime)
    receiving.sweep(work.runtime)
    return None


ATTEND = Operation(kind="instances.attend", args=Nothing, steps=(attend_changes, free_the_stuck), keep=False)
SWEEP = Operation(kind="instances.sweep", args=Nothing, steps=(sweep,), queue="bulk", keep=False)
OPERATIONS = (ATTEND, SWEEP)
