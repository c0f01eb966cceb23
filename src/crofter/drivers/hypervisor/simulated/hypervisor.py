"""The simulated hypervisor: the reference for every other driver. It keeps nothing in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import overload

from msgspec.structs import replace

from crofter.clock import Clock
from crofter.db import Database
from crofter.drivers.hypervisor.contract import PATIENCE, Order, SerialPort
from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger import (
    changes,
    conditions,
    disk_plans,
    image_plans,
    observed,
    plans,
    read_counts,
    volume_plans,
)
from crofter.drivers.hypervisor.ledger.conditions import Transition, Transitions
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Image, Volume, Wiring
from crofter.drivers.hypervisor.ledger.fleet import Fleet
from crofter.drivers.hypervisor.ledger.ledger import FAULTS, Ledger, VolumeAt
from crofter.drivers.hypervisor.ledger.performing import Task, perform
from crofter.drivers.hypervisor.ledger.transactions import Transactions
from crofter.drivers.hypervisor.reports import (
    Change,
    Host,
    Inventory,
    ObservedBackup,
    ObservedDisk,
    ObservedDomain,
    ObservedImage,
    ObservedVolume,
    Progress,
    Usage,
)
from crofter.drivers.hypervisor.simulated import series
from crofter.drivers.hypervisor.simulated.faults import Faults
from crofter.drivers.hypervisor.simulated.guest import SimulatedSerialPort
from crofter.drivers.hypervisor.specs import (
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    FromBackup,
    FromDisk,
    FromImage,
    FromVolume,
    ImageRef,
    ImageSource,
    Network,
    Seed,
    Source,
    VolumeRef,
    VolumeSource,
)

TRANSITIONS = "transitions"
"""Signal to other processes after a change of the transitions table."""
HOSTS_PER_REGION = 200
"""Number of hosts. High enough that consecutive machines rarely share a host, so that a host fault affects few."""


class SimulatedHypervisor:
    ledger_class: type[Ledger] = Ledger
    real_time = False

    def __init__(
        self, database: Database, clock: Clock, regions: Iterable[str], hosts_per_region: int = HOSTS_PER_REGION
    ) -> None:
        self._transactions = Transactions(database, clock, Fleet(regions, hosts_per_region), self.ledger_class)
        self.faults = Faults(self._transactions)

    def run_periodic_work(self) -> float:
        return inf  # no polling: changes are reported directly and samples are computed

    def close(self) -> None:
        """Do nothing: all work in progress is in the database."""

    def hosts(self) -> tuple[Host, ...]:
        with self._transactions.reading() as ledger:
            return ledger.fleet.hosts(ledger.conditions)

    def place(self, region: str, domain: int, spec: DomainSpec, *, avoid: int | None = None, disk: int = 1) -> int:
        with self._transactions.reading() as ledger:
            return ledger.fleet.place(ledger.conditions, region, domain, avoid)

    def ensure_domain(self, ref: DomainRef, spec: DomainSpec, order: Order) -> Progress:
        return perform(self._transactions, Task("domain", Domain, ref, order, plans.define(spec), creates=True))

    def ensure_network(self, ref: DomainRef, network: Network, order: Order) -> Progress:
        return perform(self._transactions, Task("network", Wiring, ref, order, plans.wire(ref, network), creates=True))

    def ensure_running(self, ref: DomainRef, order: Order) -> Progress:
        return perform(self._transactions, Task("running", Domain, ref, order, plans.start, storage=True))

    def ensure_off(self, ref: DomainRef, order: Order, *, grace: int = 0) -> Progress:
        # Simulated guests always obey, so none has to wait out its grace.
        return perform(self._transactions, Task("off", Domain, ref, order, plans.stop))

    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        plan = plans.move(ref, to, disks, live=live)
        return perform(self._transactions, Task("moved", Domain, ref, order, plan, anywhere=True, also=(to,)))

    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        also: tuple[int, ...] = ()
        if isinstance(source, FromDisk):
            also = (source.disk.host,)
        elif isinstance(source, FromBackup):
            also = (source.backup.host,)
        elif isinstance(source, FromImage) and source.kept is not None:
            also = (source.kept.host,)
        task = Task("disk", Disk, ref, order, disk_plans.make(spec, source), creates=True, also=also)
        return perform(self._transactions, task)

    def ensure_size(self, ref: DiskRef, size: int, order: Order) -> Progress:
        return perform(self._transactions, Task("size", Disk, ref, order, disk_plans.resize(size)))

    def ensure_seed(self, ref: DiskRef, seed: Seed, order: Order) -> Progress:
        return perform(self._transactions, Task("seed", Disk, ref, order, disk_plans.seed(seed, order.token)))

    def ensure_backup(self, ref: BackupRef, disks: tuple[DiskRef, ...], order: Order) -> Progress:
        also = tuple(disk.host for disk in disks)
        return perform(
            self._transactions, Task("backup", Backup, ref, order, disk_plans.save(disks), creates=True, also=also)
        )

    def ensure_volume(self, ref: VolumeRef, size: int, source: VolumeSource, order: Order) -> Progress:
        copied = self._stored(source.volume) if isinstance(source, FromVolume) else None
        also = () if copied is None else (copied.host,)
        task = Task("volume", Volume, self._stored(ref), order, volume_plans.make(size, copied), True, also=also)
        return perform(self._transactions, task)

    def ensure_grown(self, ref: VolumeRef, size: int, order: Order) -> Progress:
        return perform(self._transactions, Task("grown", Volume, self._stored(ref), order, volume_plans.grow(size)))

    def ensure_attached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        at = self._stored(volume)
        task = Task(f"attached {volume.name}", Domain, ref, order, volume_plans.attach(at), also=(at.host,))
        return perform(self._transactions, task)

    def ensure_detached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        plan = volume_plans.detach(self._stored(volume))
        return perform(self._transactions, Task(f"detached {volume.name}", Domain, ref, order, plan))

    def ensure_image(self, ref: ImageRef, source: ImageSource, order: Order) -> Progress:
        also = (source.disk.host,) if isinstance(source, FromDisk) else ()
        task = Task("image", Image, ref, order, image_plans.make(source), creates=True, also=also)
        return perform(self._transactions, task)

    def _stored(self, ref: VolumeRef) -> VolumeAt:
        return VolumeAt(self._transactions.fleet.storage(ref.region), ref.id)

    def ensure_gone(self, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef, order: Order) -> Progress:
        if isinstance(ref, VolumeRef):
            stored = self._stored(ref)
            task = Task("gone", Volume, stored, order, volume_plans.remove, creates=True, anywhere=True)
        elif isinstance(ref, DomainRef):
            task = Task("gone", Domain, ref, order, plans.remove, creates=True, anywhere=True)
        elif isinstance(ref, DiskRef):
            task = Task("gone", Disk, ref, order, disk_plans.remove, creates=True, anywhere=True)
        elif isinstance(ref, ImageRef):
            task = Task("gone", Image, ref, order, image_plans.remove, creates=True, anywhere=True)
        else:
            task = Task("gone", Backup, ref, order, disk_plans.remove_backup, creates=True, anywhere=True)
        return perform(self._transactions, task)

    @overload
    def observe(self, ref: DomainRef) -> ObservedDomain: ...
    @overload
    def observe(self, ref: DiskRef) -> ObservedDisk: ...
    @overload
    def observe(self, ref: BackupRef) -> ObservedBackup: ...
    @overload
    def observe(self, ref: VolumeRef) -> ObservedVolume: ...
    @overload
    def observe(self, ref: ImageRef) -> ObservedImage: ...
    def observe(
        self, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef
    ) -> ObservedDomain | ObservedDisk | ObservedBackup | ObservedVolume | ObservedImage:
        with self._transactions.reading() as ledger:
            conditions.ask_ahead(ledger.db)  # every verb reads the reachability of its host
            if isinstance(ref, VolumeRef):
                return observed.volume(ledger, ref, self._stored(ref))
            if isinstance(ref, DomainRef):
                return observed.domain(ledger, ref)
            if isinstance(ref, DiskRef):
                return observed.disk(ledger, ref)
            if isinstance(ref, ImageRef):
                return observed.image(ledger, ref)
            return observed.backup(ledger, ref)

    def list(self, host: int | None = None) -> Inventory:
        with self._transactions.reading() as ledger:
            return observed.inventory(ledger, host)

    def changes(self, after: int, limit: int = 100) -> tuple[Change, ...]:
        with self._transactions.reading() as ledger:
            return changes.after(ledger, after, limit)

    def statistics(self, ref: DomainRef) -> Usage:
        with self._transactions.reading() as ledger:
            return series.statistics(ledger, ref)

    def history(
        self, ref: DomainRef, start: int, stop: int, step: int, *, timeout: float = PATIENCE
    ) -> tuple[Usage, ...]:
        if timeout <= 0:  # there is no host to wait for: it is in time unless there is none left
            raise Unreachable("No time is left to ask.")
        with self._transactions.reading() as ledger:
            return series.history(ledger, ref, start, stop, step)

    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        with self._transactions.reading() as ledger:
            doc = observed.measured(ledger, ref)
        if not doc.on:
            raise Refused("The machine is off.")

        def is_on() -> bool:
            try:
                seen = self.observe(ref)
            except Unreachable:
                return True  # the state of the store is unknown at this moment
            return (seen.power, seen.since) == ("on", doc.since)

        return SimulatedSerialPort(ref.name, doc.since, self._transactions.now, is_on, notify)

    def transitions(self) -> Transitions:
        """The table in force: how long each kind of operation takes, or that it fails."""
        with self._transactions.reading() as ledger:
            return dict(ledger.conditions.transitions)

    def set_transitions(self, table: dict[str, Transition]) -> Transitions:
        """Replace the table. What is under way already keeps its time."""
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS,))
            changed = replace(ledger.conditions, transitions={"*": conditions.DEFAULT, **table})
            conditions.save(ledger.db, changed)
            ledger.db.signal(TRANSITIONS)
            return dict(changed.transitions)

    def counts_reads(self) -> bool:
        """True if work waits for reads now, or may later."""
        with self._transactions.reading() as ledger:
            rules = ledger.conditions.transitions.values()
            return any(rule.reads for rule in rules) or bool(read_counts.waiting(ledger.db))

    def count_read(self, operation: int, action: str) -> bool | None:
        """The object of an operation was read: whether it was read often enough; None if that is nothing to it."""
        with self._transactions.writing() as ledger:
            reads = ledger.conditions.transition(action).reads
            count = read_counts.known(ledger.db, operation)
            if count is None:
                if reads is None:
                    return None
                count = read_counts.begun(ledger.db, operation, reads)
            if not count.released and count.reads_left > 0:
                read_counts.count_one(ledger.db, operation, count)
                return False
            if not count.released:
                read_counts.release(ledger.db, operation, ledger.now)
            return True

    def release_waiting(self) -> tuple[int, ...]:
        """End all work that waits for reads, and return its operations."""
        with self._transactions.writing() as ledger:
            released = read_counts.waiting(ledger.db)
            for operation in released:
                read_counts.release(ledger.db, operation, ledger.now)
            return tuple(released)

    def reset(self) -> None:
        """An empty ledger again, with the first transitions and no faults."""
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS,))
            ledger.clear()

    def prune(self, before: int) -> int:
        with self._transactions.writing() as ledger:
            return ledger.forget(before)
