"""Contract of the hypervisor drivers, verified by ``tests/drivers/contract.py``.

The server decides the wanted state; a driver establishes it and reports the actual state. Four rules hold for every
verb:

- **Same order, same work.** A verb may be repeated by another worker, from another process or after a crash: work is
neither started nor done twice.

- **Begin, then poll.** No verb waits. It begins the work and returns a Progress; the same call polls it. A verb that
needs the result of unfinished work of the same operation returns an empty Progress until that work is done.

- **Late workers are refused.** A driver stores the operation and the highest fence for each object. A lower fence of
that operation raises Stale, and so does an operation that another one has followed.

- **Unknown is not off.** If a host does not answer, verbs raise Unreachable and observations return ``unknown``.

A driver of real machines works in real time, whatever the service clock shows. The remaining time is then an estimate,
but ``percent`` never decreases. A problem inside a disk is reported as a failure and leaves the disk unchanged. An
order is checked again immediately before its effect: a delayed worker must not start a machine that was switched off
meanwhile, nor replace bytes that others use.

Refused is permanent and raised before any change; a Progress with a failure means work that began and failed. Call
verbs outside transactions: a driver may keep its own tables in the same database.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, overload

from msgspec import Struct

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
    ImageRef,
    ImageSource,
    Network,
    Seed,
    Source,
    VolumeRef,
    VolumeSource,
)

PATIENCE = 10.0
"""Real seconds after which a host that says nothing is Unreachable, unless its caller has less time."""

SERIAL_PIECE = 16 * 1024
"""Bytes of a serial port that are read at a time."""
SERIAL_BUFFER = 64 * 1024
"""Bytes that wait on either side of a serial port."""


class Order(Struct, frozen=True):
    """On whose behalf a verb is called. Work is the same when operation, step, verb and thing are the same."""

    operation: int
    step: str
    fence: int
    """Grows whenever a worker claims the operation."""
    action: str
    """Event action of the work: ``compute_reboot``."""
    until: int = 100
    """Percent of the operation that is done when this piece of work is: a hint, for a driver that can pace itself."""

    @property
    def token(self) -> str:
        return f"{self.operation}:{self.step}"


class SerialPort(Protocol):
    """Serial console of a machine, as bytes in both directions. Thread-safe and non-blocking.

    Unread output is bounded: the machine waits, or its oldest bytes are lost, as on any serial port.
    """

    def read(self) -> bytes | None:
        """Return new output, at most ``SERIAL_PIECE`` bytes; None after the end of the connection."""

    def write(self, content: bytes) -> int:
        """Write input. Return the number of accepted bytes: fewer while the machine does not read."""

    def close(self) -> None:
        """Let go of it. The machine does not notice; may be repeated."""


class Hypervisor(Protocol):
    """A fleet of hosts that run virtual machines."""

    real_time: bool
    """True if any machine is real and so continues while the clock is frozen."""

    def run_periodic_work(self) -> float:
        """Its own periodic work: notice what changed, take samples, clear up after processes that died.

        Called again after so many real seconds; never, if they are infinite. Raises nothing.
        """

    def close(self) -> None:
        """The process ends: what it has begun is left so that another one goes on with it at once. Raises nothing."""

    def hosts(self) -> tuple[Host, ...]:
        """The fleet, in order of id."""

    def place(self, region: str, domain: int, spec: DomainSpec, *, avoid: int | None = None, disk: int = 1) -> int:
        """A host of the region with space for the machine; not ``avoid``. Reserves nothing, writes nothing.

        ``disk``: MB of its disks, as far as they are known by now.
        """

    def ensure_domain(self, ref: DomainRef, spec: DomainSpec, order: Order) -> Progress:
        """The machine is defined so, from its next boot on; a running one runs on as it is."""

    def ensure_network(self, ref: DomainRef, network: Network, order: Order) -> Progress:
        """The machine has these addresses and this filter, at once. The whole of it, not a change to it.

        Operations that know of different changes come in any order: a lower generation than the last one is Stale.
        """

    def ensure_running(self, ref: DomainRef, order: Order) -> Progress:
        """Power the machine on. A running machine is left alone, with any boot settings.

        Refused if a disk or volume of its definition is missing or in use elsewhere.
        """

    def ensure_off(self, ref: DomainRef, order: Order, *, grace: int = 0) -> Progress:
        """Power the machine off: request a shutdown of the guest, and cut the power after ``grace`` seconds."""

    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        """The machine and all its disks are on host ``to``. Backups stay where they are.

        One that is on is refused; unless ``live``, then it moves within its region and runs on meanwhile.
        """

    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        """The disk is there. A deleted number never comes back."""

    def ensure_size(self, ref: DiskRef, size: int, order: Order) -> Progress:
        """The disk and its file system are so large. Refused in use, and below what its files need."""

    def ensure_seed(self, ref: DiskRef, seed: Seed, order: Order) -> Progress:
        """Password, keys and the rest are on the disk. Refused in use."""

    def ensure_backup(self, ref: BackupRef, disks: tuple[DiskRef, ...], order: Order) -> Progress:
        """These disks are saved, all as they were at one moment; their machine may run meanwhile."""

    def ensure_volume(self, ref: VolumeRef, size: int, source: VolumeSource, order: Order) -> Progress:
        """The volume is there, with so many GB. A deleted number never comes back."""

    def ensure_grown(self, ref: VolumeRef, size: int, order: Order) -> Progress:
        """The volume has so many GB, whether in use or not. Refused below what it has."""

    def ensure_attached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        """The machine has the volume plugged in, if it is on; with what it boots is said by its definition alone.

        Refused while another machine has the volume: no two ever write to it.
        """

    def ensure_detached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        """The machine does not have the volume plugged in, on or off; the volume need not be there any more."""

    def ensure_image(self, ref: ImageRef, source: ImageSource, order: Order) -> Progress:
        """The image is there: the bytes of a disk as they are when the copying begins, or of a file that was sent.

        The disk may be on another host, and in use. A deleted number never comes back.
        """

    def ensure_gone(self, ref: DomainRef | DiskRef | BackupRef | VolumeRef | ImageRef, order: Order) -> Progress:
        """Remove all traces from all hosts and stop its work. A running machine loses its power.

        Refused for a disk or volume in use.
        """

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
        """Return the actual state. Never raises for an unreachable host: the state is ``unknown``."""

    def list(self, host: int | None = None) -> Inventory:
        """Return all objects on one host, or on all hosts."""

    def changes(self, after: int, limit: int = 100) -> tuple[Change, ...]:
        """Return unordered changes of machines, oldest first. A hint to look soon; the sweeper is the guarantee."""

    def statistics(self, ref: DomainRef) -> Usage:
        """Counters since the machine was switched on; nothing for one that is off."""

    def history(
        self, ref: DomainRef, start: int, stop: int, step: int, *, timeout: float = PATIENCE
    ) -> tuple[Usage, ...]:
        """Use per ``step`` milliseconds from ``start``, up to ``stop`` or now. Traffic of a month is one long step.

        Callers wait for it, so a host that has not answered after ``timeout`` real seconds is Unreachable.
        """

    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        """Open the serial console of a running machine. Raises Refused if it is off, and Absent or Unreachable as
        usual.

        ``notify`` is called, in any thread, when output arrives, when input is accepted again, and at the end. A host
        may serve one connection at a time: a new connection ends the earlier one.
        """

    def prune(self, before: int) -> int:
        """Forget finished orders and deleted things from before; how many. Operations so old must not come back."""
