"""The libvirt driver: the contract's verbs, each as a plan for the ledger and a job for a host."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, overload

from msgspec.structs import replace

from crofter.clock import Clock
from crofter.db import Database
from crofter.drivers.hypervisor.contract import PATIENCE, Order, SerialPort
from crofter.drivers.hypervisor.errors import DriverError, Refused, Unreachable
from crofter.drivers.hypervisor.ledger import changes, disk_plans, image_plans, observed, plans, volume_plans
from crofter.drivers.hypervisor.ledger.conditions import SETTING
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Image, Volume, Wiring
from crofter.drivers.hypervisor.ledger.ledger import VolumeAt
from crofter.drivers.hypervisor.ledger.performing import Task
from crofter.drivers.hypervisor.ledger.tables import setting
from crofter.drivers.hypervisor.libvirt import (
    disk_jobs,
    machine_jobs,
    moving,
    networks,
    planning,
    samples,
    volume_jobs,
)
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.host_ledger import Key, Store
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.listing import inventory
from crofter.drivers.hypervisor.libvirt.maintenance import GRACE, Maintenance
from crofter.drivers.hypervisor.libvirt.media import Media
from crofter.drivers.hypervisor.libvirt.names import Names
from crofter.drivers.hypervisor.libvirt.performing import Performer
from crofter.drivers.hypervisor.libvirt.periodic_work import PeriodicWork
from crofter.drivers.hypervisor.libvirt.power_sync import PowerSync
from crofter.drivers.hypervisor.libvirt.sampling import Sampling
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

INSTALLATION = "installation"
COPY_RATE = 400
"""MB per second that a copy is foreseen to make; what is foreseen need not come true."""
LAST_SECONDS = 3.0
"""Seconds that jobs have to end when the process does."""
HELPER = 10.0
"""Seconds that the helper system is foreseen to take."""


class LibvirtHypervisor:
    real_time = True

    def __init__(self, database: Database, clock: Clock, media: Path) -> None:
        self._store = Store(database, clock)
        self.hosts_client = Hosts(self._store, Names(_installation(database)), Media(media))
        self._power_sync = PowerSync(self.hosts_client)
        self._sampling = Sampling(self.hosts_client)
        self._performer = Performer(self.hosts_client, self._power_sync)
        self._periodic_work = PeriodicWork(self.hosts_client, self._power_sync, self._sampling, self._performer.owner)

    def must_have_media(self) -> None:
        """Without the helper system nothing can be deployed, so a server does not start."""
        try:
            _ = self.hosts_client.media.helper
        except Refused:
            folder = self.hosts_client.media.folder
            raise DriverError(f"there is no helper system in {folder}: build it with tools/guest/build.sh") from None

    def maintenance(self, host: int, *, begins: bool, grace: float = GRACE) -> None:
        """Begin or end the maintenance of a host: no machine runs on it until the end."""
        Maintenance(self.hosts_client, self._power_sync).change(host, begins=begins, grace=grace)

    def begin_draining(self, host: int) -> None:
        """No machine is placed on the host any more; those that are there run on, and may be moved away."""
        Maintenance(self.hosts_client, self._power_sync).begin_draining(host)

    def declare_lost(self, host: int) -> None:
        Maintenance(self.hosts_client, self._power_sync).declare_lost(host)

    def run_periodic_work(self) -> float:
        try:
            return self._periodic_work.run()
        except DriverError:
            return 5.0

    def close(self) -> None:
        try:
            self._performer.close(LAST_SECONDS)
        except DriverError:
            return  # then they are taken over when their signs of life have stopped for long enough

    def hosts(self) -> tuple[Host, ...]:
        with self._store.reading(self._unreachable()) as ledger:
            return ledger.fleet.hosts(ledger.conditions)

    def place(self, region: str, domain: int, spec: DomainSpec, *, avoid: int | None = None, disk: int = 1) -> int:
        unreachable = self._unreachable()
        with self._store.reading(unreachable) as ledger:
            return planning.place(ledger, region, domain, spec, avoid, disk)

    # ---- machines ---------------------------------------------------------------------------------------------------

    def ensure_domain(self, ref: DomainRef, spec: DomainSpec, order: Order) -> Progress:
        task = Task("domain", Domain, ref, order, planning.define(spec), creates=True)
        return self._performer.perform(task, machine_jobs.define(ref), 0.5, heavy=False)

    def ensure_network(self, ref: DomainRef, network: Network, order: Order) -> Progress:
        task = Task("network", Wiring, ref, order, plans.wire(ref, network), creates=True)
        return self._performer.perform(task, networks.apply(ref), 0.3, heavy=False)

    def ensure_running(self, ref: DomainRef, order: Order) -> Progress:
        task = Task("running", Domain, ref, order, plans.start, storage=True)
        return self._performer.perform(task, machine_jobs.start(ref), 1.5, heavy=False)

    def ensure_off(self, ref: DomainRef, order: Order, *, grace: int = 0) -> Progress:
        task = Task("off", Domain, ref, order, planning.stop)
        job = machine_jobs.stop(ref, grace, self._sampling)
        return self._performer.perform(task, job, 4.0 if grace else 0.5, heavy=False)

    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        task = Task("moved", Domain, ref, order, planning.move(ref, to, disks, live=live), anywhere=True, also=(to,))
        job = moving.move(ref, to, disks, self._sampling)
        return self._performer.perform(task, job, 3.0 * max(1, len(disks)))

    # ---- disks, backups, images -------------------------------------------------------------------------------------

    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        also: tuple[int, ...] = ()
        reads: list[Key] = []
        if isinstance(source, FromDisk):
            also, reads = (source.disk.host,), [(Disk.kind, source.disk.id)]
        elif isinstance(source, FromBackup):
            also, reads = (source.backup.host,), [(Backup.kind, source.backup.id)]
        elif isinstance(source, FromImage) and source.kept is not None:
            also, reads = (source.kept.host,), [(Image.kind, source.kept.id)]
        planner = planning.make_disk(self.hosts_client.media, ref, spec, source)
        task = Task("disk", Disk, ref, order, planner, creates=True, also=also)
        expected = 1.0 + spec.size / COPY_RATE / 10
        return self._performer.perform(task, disk_jobs.make(ref, spec, source), expected, reads=reads)

    def ensure_size(self, ref: DiskRef, size: int, order: Order) -> Progress:
        task = Task("size", Disk, ref, order, planning.free(planning.resize(size)))
        return self._performer.perform(task, disk_jobs.resize(ref, size), HELPER)

    def ensure_seed(self, ref: DiskRef, seed: Seed, order: Order) -> Progress:
        task = Task("seed", Disk, ref, order, planning.free(disk_plans.seed(seed, order.token)))
        return self._performer.perform(task, disk_jobs.seed(ref, seed), HELPER)

    def ensure_backup(self, ref: BackupRef, disks: tuple[DiskRef, ...], order: Order) -> Progress:
        task = Task("backup", Backup, ref, order, planning.save(disks), True, also=tuple(disk.host for disk in disks))
        reads = [(Disk.kind, disk.id) for disk in disks]
        return self._performer.perform(task, disk_jobs.save(ref), 2.0, reads=reads)

    def ensure_image(self, ref: ImageRef, source: ImageSource, order: Order) -> Progress:
        copied = source.disk if isinstance(source, FromDisk) else None
        also, reads = ((), []) if copied is None else ((copied.host,), [(Disk.kind, copied.id)])
        task = Task("image", Image, ref, order, planning.make_image(source), creates=True, also=also)
        return self._performer.perform(task, disk_jobs.make_image(ref, source), 3.0, reads=reads)

    # ---- volumes ----------------------------------------------------------------------------------------------------

    def ensure_volume(self, ref: VolumeRef, size: int, source: VolumeSource, order: Order) -> Progress:
        copied = self._stored(source.volume) if isinstance(source, FromVolume) else None
        stored = self._stored(ref)
        also = () if copied is None else (copied.host,)
        task = Task("volume", Volume, stored, order, volume_plans.make(size, copied), True, also=also)
        reads = [] if copied is None else [(Volume.kind, copied.id)]
        return self._performer.perform(task, volume_jobs.make(stored, size, copied), 1.0, reads=reads)

    def ensure_grown(self, ref: VolumeRef, size: int, order: Order) -> Progress:
        stored = self._stored(ref)
        task = Task("grown", Volume, stored, order, volume_plans.grow(size))
        return self._performer.perform(task, volume_jobs.grow(stored, size), 0.5)

    def ensure_attached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        stored = self._stored(volume)
        task = Task(f"attached {volume.name}", Domain, ref, order, volume_plans.attach(stored), also=(stored.host,))
        reads = [(Volume.kind, volume.id)]
        return self._performer.perform(task, volume_jobs.attach(ref, stored), 0.5, reads=reads, heavy=False)

    def ensure_detached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        stored = self._stored(volume)
        task = Task(f"detached {volume.name}", Domain, ref, order, volume_plans.detach(stored))
        return self._performer.perform(task, volume_jobs.detach(ref, stored), 3.0, heavy=False)

    def _stored(self, ref: VolumeRef) -> VolumeAt:
        fleet = self.hosts_client.fleet()
        stored = VolumeAt(fleet.storage(ref.region), ref.id)
        if not fleet.beside(stored.host):
            raise Refused(f"The hosts of region {ref.region} have no storage for volumes.")
        return stored

    # ---- the end ----------------------------------------------------------------------------------------------------

    def ensure_gone(self, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef, order: Order) -> Progress:
        at: Any = self._stored(ref) if isinstance(ref, VolumeRef) else ref
        document, plan, job = self._removal(ref, at)
        with self._store.reading() as ledger:
            known = ledger.find(document, ref.id) if ledger.fleet.region(at.host) is None else None
            if ledger.fleet.region(at.host) is None and (known is None or known.doc is None):
                return Progress(real_time=True)  # the host was taken out of the fleet, with all that was there
        if known is not None:
            at = replace(at, host=known.host)
        task = Task("gone", document, at, order, plan, creates=True, anywhere=True)
        return self._performer.perform(task, job, 0.5, heavy=False)

    def _removal(self, ref: Any, at: Any) -> tuple[Any, Any, Any]:
        if isinstance(ref, VolumeRef):
            return Volume, volume_plans.remove, volume_jobs.remove(at)
        if isinstance(ref, DomainRef):
            return Domain, plans.remove, machine_jobs.remove(ref)
        if isinstance(ref, DiskRef):
            return Disk, disk_plans.remove, disk_jobs.remove(ref)
        if isinstance(ref, ImageRef):
            return Image, image_plans.remove, disk_jobs.remove_image(ref)
        return Backup, disk_plans.remove_backup, disk_jobs.remove_backup(ref)

    # ---- looking ----------------------------------------------------------------------------------------------------

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
        at: Any = self._stored(ref) if isinstance(ref, VolumeRef) else ref
        document = _DOCUMENTS[type(ref)]
        with self._store.reading() as ledger:
            known = ledger.find(document, ref.id)
        hosts = {at.host} | ({known.host} if known is not None and known.doc is not None else set())
        unreachable = self.hosts_client.unreachable(hosts)
        if not unreachable:
            self._power_sync.refresh([(document.kind, ref.id)])
        with self._store.reading(unreachable) as ledger:
            if isinstance(ref, VolumeRef):
                return replace(observed.volume(ledger, ref, at), content=None)
            if isinstance(ref, DomainRef):
                return observed.domain(ledger, ref)
            if isinstance(ref, DiskRef):
                return replace(observed.disk(ledger, ref), content=None)
            if isinstance(ref, ImageRef):
                return replace(observed.image(ledger, ref), content=None)
            return planning.without_content(observed.backup(ledger, ref))

    def list(self, host: int | None = None) -> Inventory:
        return inventory(self.hosts_client, host)

    def changes(self, after: int, limit: int = 100) -> tuple[Change, ...]:
        with self._store.reading() as ledger:
            return changes.after(ledger, after, limit)

    def statistics(self, ref: DomainRef) -> Usage:
        with self._store.reading(self._unreachable((ref.host,))) as ledger:
            doc = observed.measured(ledger, ref)
            now = ledger.now
        counters = self._sampling.now(ref.host, ref.id)
        return Usage(now, now) if counters is None else Usage(doc.since, now, **counters)

    def history(
        self, ref: DomainRef, start: int, stop: int, step: int, *, timeout: float = PATIENCE
    ) -> tuple[Usage, ...]:
        if timeout <= 0:
            raise Unreachable("No time is left to ask.")
        return self._sampling.history(ref.id, start, stop, step, timeout)

    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        with self._store.reading() as ledger:
            known = ledger.find(Domain, ref.id)
        host = ref.host if known is None or known.doc is None else known.host
        with self._store.reading(self._unreachable((host,))) as ledger:
            observed.measured(ledger, ref)
        try:
            return self.hosts_client.client(host).open_serial_port(ref.id, notify)
        except LibvirtError:
            raise Unreachable("The host does not answer.") from None

    def prune(self, before: int) -> int:
        with self._store.writing() as ledger:
            return ledger.forget(before) + ledger.db.run(samples.OLD, before=before - samples.KEPT_LONGER)

    def _unreachable(self, hosts: Iterable[int] | None = None) -> frozenset[int]:
        return self.hosts_client.unreachable(self.hosts_client.fleet().entries if hosts is None else hosts)


_DOCUMENTS: dict[type, Any] = {
    DomainRef: Domain,
    DiskRef: Disk,
    BackupRef: Backup,
    VolumeRef: Volume,
    ImageRef: Image,
}


def _installation(database: Database) -> str:
    """Return the id that separates this database's objects from others on the same hosts. Created once."""
    with database.write() as db:
        stored = db.value(SETTING, name=INSTALLATION)
        if stored is None:
            stored = secrets.token_hex(4)
            db.insert(setting, name=INSTALLATION, value=stored)
        return str(stored)
