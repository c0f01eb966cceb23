"""Reports of a hypervisor: progress of work, and observed state. Times are server milliseconds."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from crofter.drivers.hypervisor.specs import BackupRef, DiskRef, DomainRef, DomainSpec, Filesystem, ImageRef, VolumeRef

Power = Literal["on", "off", "absent", "unknown"]
"""``absent``: the hosts answer and none has it. ``unknown``: a host does not answer, which is never ``off``."""

Reason = Literal["ours", "guest", "crashed", "host"]
"""Why a machine is off: it was ordered, the guest shut itself down, it died, or its host went down."""

Presence = Literal["ready", "making", "leaving", "absent", "unknown"]


class Progress(Struct, frozen=True):
    """How far a piece of work has come. Repeat the verb with the same order to ask again."""

    done: bool = True
    percent: int = 100
    remaining: float = 0.0
    """Seconds of service time until the next useful poll; infinite if unknown."""
    rate: float | None = None
    """MB per second, where something is copied."""
    failure: str | None = None
    """Reason of a permanent failure."""
    reached: int | None = None
    """Percent of the whole operation beyond which it will not come, of work that fails on the way."""
    real_time: bool = False
    """True if the work continues while the service clock is frozen; ``remaining`` is then an estimate."""


class ObservedDomain(Struct, frozen=True):
    ref: DomainRef
    """Actual location; a crash during a move may differ from the requested host."""
    power: Power
    reason: Reason | None = None
    since: int | None = None
    spec: DomainSpec | None = None
    """For the next boot."""
    active: DomainSpec | None = None
    """Definition of the running machine."""
    resumes: bool = False
    """Off with its host, and will come on with it."""
    maintenance: bool = False
    """Its host takes no machines now, whether this one was on or not."""
    busy: bool = False
    """Work that was ordered is under way."""
    volumes: tuple[int, ...] = ()
    """The volumes that are plugged in now: those it was booted with, and those that came while it ran."""


class ObservedDisk(Struct, frozen=True):
    ref: DiskRef
    presence: Presence
    size: int = 0
    used: int = 0
    """MB that its files need: it cannot be made smaller."""
    filesystem: Filesystem = "raw"
    in_use: bool = False
    content: str | None = None
    """A fingerprint of its bytes, from a driver that has one at hand."""
    busy: bool = False


class SavedDisk(Struct, frozen=True):
    """A disk inside a backup."""

    disk: int
    size: int
    used: int
    filesystem: Filesystem
    content: str | None = None
    image: str | None = None
    """The image of the catalogue that the disk began as."""


class ObservedBackup(Struct, frozen=True):
    ref: BackupRef
    presence: Presence
    disks: tuple[SavedDisk, ...] = ()


class ObservedVolume(Struct, frozen=True):
    ref: VolumeRef
    presence: Presence
    size: int = 0
    """GB."""
    user: int | None = None
    """Machine that uses the volume."""
    content: str | None = None
    """A fingerprint of its bytes, from a driver that has one at hand."""
    busy: bool = False


class ObservedImage(Struct, frozen=True):
    ref: ImageRef
    presence: Presence
    size: int = 0
    """Disk size in MB that the image needs."""
    content: str | None = None
    """A fingerprint of its bytes, from a driver that has one at hand."""


class Host(Struct, frozen=True):
    id: int
    region: str
    state: Literal["up", "maintenance", "unreachable"] = "up"


class Inventory(Struct, frozen=True):
    """Objects on hosts, for the sweeper that finds orphans."""

    domains: tuple[DomainRef, ...] = ()
    disks: tuple[DiskRef, ...] = ()
    backups: tuple[BackupRef, ...] = ()
    unreachable: tuple[int, ...] = ()
    """Hosts that did not answer: what should be there is missing from the lists, and not gone."""
    volumes: tuple[VolumeRef, ...] = ()
    """Volumes of every reachable storage, unless the listing was for one host."""
    images: tuple[ImageRef, ...] = ()


class Change(Struct, frozen=True):
    """An unordered power change of a machine, or of its host's maintenance state."""

    number: int
    """Grows; the next question is for what came after it."""
    ref: DomainRef
    power: Power
    reason: Reason | None
    at: int


class Usage(Struct, frozen=True):
    """Usage of a machine between two moments."""

    start: int
    stop: int
    cpu: int = 0
    """Milliseconds of a single processor."""
    io: int = 0
    swap: int = 0
    """Blocks."""
    ipv4_in: int = 0
    """Bytes, as all below."""
    ipv4_out: int = 0
    ipv4_private_in: int = 0
    ipv4_private_out: int = 0
    ipv6_in: int = 0
    ipv6_out: int = 0
    ipv6_private_in: int = 0
    ipv6_private_out: int = 0
