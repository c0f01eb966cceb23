"""Interface of a driver under test, and tools of the contract's checks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from crofter.drivers.hypervisor import (
    BackupRef,
    Device,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    FromDisk,
    FromImage,
    Hypervisor,
    ImageRef,
    Interface,
    Inventory,
    ObservedBackup,
    ObservedDisk,
    ObservedDomain,
    ObservedImage,
    ObservedVolume,
    Order,
    Progress,
    Refused,
    VolumeRef,
)

IMAGE = FromImage("compute/debian12", minimum=1500)
PATIENCE = 600.0
"""Seconds that any piece of work may take."""

Seen = ObservedDomain | ObservedDisk | ObservedBackup | ObservedVolume | ObservedImage


class DriverHarness(Protocol):
    """A driver with a fleet of at least two regions of two hosts, and the means to meddle with it."""

    regions: tuple[str, str]
    counts_traffic: bool
    """True if traffic is counted: not on QEMU's user network."""
    is_exact: bool
    """True if work ends at the predicted moment with exact results: real machines vary."""

    def start(self) -> Hypervisor:
        """A new driver object on the same store, as after a crash of the old one."""

    def wait(self, seconds: float) -> None: ...
    def content(self, disk: DiskRef | VolumeRef) -> str:
        """Return a fingerprint of an idle disk or volume."""

    def shut_down_inside(self, domain: DomainRef) -> None: ...
    def kill(self, domain: DomainRef) -> None: ...
    def unplug(self, host: int) -> None: ...
    def plug(self, host: int) -> None: ...
    def maintenance(self, host: int, *, begins: bool) -> None: ...
    def stalled(self, driver: Any, check: int) -> AbstractContextManager[Any]:
        """Inside, jobs of the driver stand still when they look for the so-manieth time whether they are still wanted.

        They give no sign of life, so that others take their work over, and go on at the end.
        """


class Machine(Struct, frozen=True):
    domain: DomainRef
    root: DiskRef
    swap: DiskRef
    spec: DomainSpec

    @property
    def disks(self) -> tuple[DiskRef, ...]:
        return self.root, self.swap


class DriverCase:
    """Numbers and orders of a check, disjoint from those of other checks."""

    def __init__(self, harness: DriverHarness) -> None:
        self.harness = harness
        self.driver = harness.start()
        self.region, self.other_region = harness.regions
        self._number = 0
        self._operation = 0

    def number(self) -> int:
        self._number += 1
        return self._number

    def order(self, step: str = "step", *, fence: int = 1, action: str = "compute_boot", until: int = 100) -> Order:
        """An order of a new operation."""
        self._operation += 1
        return Order(self._operation, step, fence, action, until)

    def host(self, region: str | None = None, *, avoid: int | None = None) -> int:
        return self.driver.place(region or self.region, self.number(), DomainSpec(1, 1024), avoid=avoid)

    def finish(self, call: Callable[[], Progress]) -> Progress:
        """Repeat a call until its work has come to an end, one way or the other."""
        waited = 0.0
        while not (progress := call()).done and progress.failure is None:
            assert waited < PATIENCE, "the work never ends"
            pause = max(progress.remaining, 0.001)
            self.harness.wait(pause)
            waited += pause
        return progress

    def done(self, call: Callable[[], Progress]) -> None:
        try:
            progress = self.finish(call)
        except Refused as error:
            raise AssertionError(f"rightful work was refused: {error}") from error
        assert progress.done, progress.failure

    def empty_disk(self, host: int, size: int = 512, filesystem: str = "ext4") -> DiskRef:
        ref, order = DiskRef(host, self.number()), self.order("disk", action="disk_create")
        spec = DiskSpec(size, filesystem)  # type: ignore[arg-type]
        self.done(lambda: self.driver.ensure_disk(ref, spec, Empty(), order))
        return ref

    def image_disk(self, host: int, size: int = 4000) -> DiskRef:
        ref, order = DiskRef(host, self.number()), self.order("disk", action="disk_create")
        self.done(lambda: self.driver.ensure_disk(ref, DiskSpec(size), IMAGE, order))
        return ref

    def machine(
        self, host: int | None = None, *, on: bool = False, interfaces: tuple[Interface, ...] = (Interface("public"),)
    ) -> Machine:
        host = host or self.host()
        root, swap = self.image_disk(host), self.empty_disk(host, filesystem="swap")
        devices = (Device("sda", disk=root.id), Device("sdb", disk=swap.id))
        spec = DomainSpec(2, 2048, devices, interfaces=interfaces)
        machine = Machine(DomainRef(host, self.number()), root, swap, spec)
        order = self.order("define", action="compute_create")
        self.done(lambda: self.driver.ensure_domain(machine.domain, spec, order))
        if on:
            self.boot(machine.domain)
        return machine

    def backup(self, machine: Machine) -> BackupRef:
        ref, order = BackupRef(machine.domain.host, self.number()), self.order(action="compute_snapshot")
        self.done(lambda: self.driver.ensure_backup(ref, machine.disks, order))
        return ref

    def volume(self, region: str | None = None, size: int = 20) -> VolumeRef:
        ref, order = VolumeRef(region or self.region, self.number()), self.order("volume", action="volume_create")
        self.done(lambda: self.driver.ensure_volume(ref, size, Empty(), order))
        return ref

    def attach(self, domain: DomainRef, volume: VolumeRef) -> None:
        order = self.order("attach", action="volume_attach")
        self.done(lambda: self.driver.ensure_attached(domain, volume, order))

    def image(self, disk: DiskRef, host: int | None = None) -> ImageRef:
        ref, order = ImageRef(host or disk.host, self.number()), self.order(action="disk_imagize")
        self.done(lambda: self.driver.ensure_image(ref, FromDisk(disk), order))
        return ref

    def boot(self, domain: DomainRef) -> None:
        order = self.order("boot")
        self.done(lambda: self.driver.ensure_running(domain, order))

    def shut_down(self, domain: DomainRef) -> None:
        order = self.order("off", action="compute_shutdown")
        self.done(lambda: self.driver.ensure_off(domain, order, grace=30))

    def remove(self, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef) -> None:
        order = self.order("gone", action="compute_delete")
        self.done(lambda: self.driver.ensure_gone(ref, order))

    def power(self, domain: DomainRef) -> str:
        return self.driver.observe(domain).power

    def picture(self) -> tuple[Inventory, tuple[Seen, ...]]:
        """Return the observable state, for comparison with a later one."""
        inventory = self.driver.list()
        domains = tuple(self.driver.observe(ref) for ref in inventory.domains)
        disks = tuple(self.driver.observe(ref) for ref in inventory.disks)
        backups = tuple(self.driver.observe(ref) for ref in inventory.backups)
        volumes = tuple(self.driver.observe(ref) for ref in inventory.volumes)
        images = tuple(self.driver.observe(ref) for ref in inventory.images)
        return inventory, (*domains, *disks, *backups, *volumes, *images)
