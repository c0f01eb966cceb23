"""Two drivers in one server: some regions have real hosts, the others simulated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from crofter.drivers.hypervisor.contract import PATIENCE, Hypervisor, Order, SerialPort
from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
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

Ref = DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef


class RegionalHypervisor:
    """Dispatches each verb to the driver of the region. The number of a host identifies its region, in both drivers."""

    real_time = True

    def __init__(self, simulated: Hypervisor, real: Hypervisor, real_regions: frozenset[str]) -> None:
        self._simulated = simulated
        self._real = real
        self._regions = real_regions
        self._codes = {code_of(region) for region in real_regions}

    def _in(self, region: str) -> Hypervisor:
        return self._real if region in self._regions else self._simulated

    def _at(self, ref: Any) -> Hypervisor:
        if isinstance(ref, VolumeRef):
            return self._in(ref.region)
        return self._on(ref.host)

    def _on(self, host: int) -> Hypervisor:
        return self._real if host // BLOCK in self._codes else self._simulated

    def _both(self, ref: Any, other: Any) -> Hypervisor:
        driver = self._at(ref)
        if other is not None and self._at(other) is not driver:
            raise Refused("One of the two regions has real hosts, and the other one simulated ones.")
        return driver

    def run_periodic_work(self) -> float:
        return self._real.run_periodic_work()

    def close(self) -> None:
        self._real.close()

    def hosts(self) -> tuple[Host, ...]:
        return tuple(sorted((*self._simulated.hosts(), *self._real.hosts()), key=lambda host: host.id))

    def place(self, region: str, domain: int, spec: DomainSpec, *, avoid: int | None = None, disk: int = 1) -> int:
        return self._in(region).place(region, domain, spec, avoid=avoid, disk=disk)

    def ensure_domain(self, ref: DomainRef, spec: DomainSpec, order: Order) -> Progress:
        return self._at(ref).ensure_domain(ref, spec, order)

    def ensure_network(self, ref: DomainRef, network: Network, order: Order) -> Progress:
        return self._at(ref).ensure_network(ref, network, order)

    def ensure_running(self, ref: DomainRef, order: Order) -> Progress:
        return self._at(ref).ensure_running(ref, order)

    def ensure_off(self, ref: DomainRef, order: Order, *, grace: int = 0) -> Progress:
        return self._at(ref).ensure_off(ref, order, grace=grace)

    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        return self._both(ref, DomainRef(to, ref.id)).ensure_moved(ref, to, disks, order, live=live)

    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        copied: Ref | None = None
        if isinstance(source, FromDisk):
            copied = source.disk
        elif isinstance(source, FromBackup):
            copied = source.backup
        elif isinstance(source, FromImage):
            copied = source.kept
        return self._both(ref, copied).ensure_disk(ref, spec, source, order)

    def ensure_size(self, ref: DiskRef, size: int, order: Order) -> Progress:
        return self._at(ref).ensure_size(ref, size, order)

    def ensure_seed(self, ref: DiskRef, seed: Seed, order: Order) -> Progress:
        return self._at(ref).ensure_seed(ref, seed, order)

    def ensure_backup(self, ref: BackupRef, disks: tuple[DiskRef, ...], order: Order) -> Progress:
        return self._at(ref).ensure_backup(ref, disks, order)

    def ensure_volume(self, ref: VolumeRef, size: int, source: VolumeSource, order: Order) -> Progress:
        copied = source.volume if isinstance(source, FromVolume) else None
        return self._both(ref, copied).ensure_volume(ref, size, source, order)

    def ensure_grown(self, ref: VolumeRef, size: int, order: Order) -> Progress:
        return self._at(ref).ensure_grown(ref, size, order)

    def ensure_attached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        return self._both(ref, volume).ensure_attached(ref, volume, order)

    def ensure_detached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        return self._both(ref, volume).ensure_detached(ref, volume, order)

    def ensure_image(self, ref: ImageRef, source: ImageSource, order: Order) -> Progress:
        copied = source.disk if isinstance(source, FromDisk) else None
        return self._both(ref, copied).ensure_image(ref, source, order)

    def ensure_gone(self, ref: Ref, order: Order) -> Progress:
        return self._at(ref).ensure_gone(ref, order)

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
    def observe(self, ref: Ref) -> ObservedDomain | ObservedDisk | ObservedBackup | ObservedVolume | ObservedImage:
        return self._at(ref).observe(ref)

    def list(self, host: int | None = None) -> Inventory:
        if host is not None:
            return self._on(host).list(host)
        parts = []
        for driver in (self._simulated, self._real):
            seen = driver.list()
            # Both drivers use the same tables: each reports its own hosts only.
            mine = {name: tuple(ref for ref in getattr(seen, name) if self._at(ref) is driver) for name in _REFS}
            parts.append(Inventory(unreachable=seen.unreachable, **mine))
        first, second = parts
        return Inventory(
            **{name: _ordered(getattr(first, name) + getattr(second, name)) for name in _REFS},
            unreachable=tuple(sorted((*first.unreachable, *second.unreachable))),
        )

    def changes(self, after: int, limit: int = 100) -> tuple[Change, ...]:
        return self._real.changes(after, limit)  # covers both drivers, which write into one table

    def statistics(self, ref: DomainRef) -> Usage:
        return self._at(ref).statistics(ref)

    def history(
        self, ref: DomainRef, start: int, stop: int, step: int, *, timeout: float = PATIENCE
    ) -> tuple[Usage, ...]:
        return self._at(ref).history(ref, start, stop, step, timeout=timeout)

    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        return self._at(ref).open_serial_port(ref, notify)

    def prune(self, before: int) -> int:
        return self._real.prune(before)


_REFS = ("domains", "disks", "backups", "volumes", "images")


def _ordered(refs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(refs, key=lambda ref: ref.id))
