"""What a hypervisor tells: how far work has come, and what is really there. Times are server milliseconds."""

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
    """Seconds of service time until it is worth asking again; infinite where nobody can tell."""
    rate: float | None = None
    """MB per second, where something is copied."""
    failure: str | None = None
    """Why it will never be done."""
    reached: int | None = None
    """Percent of the whole operation beyond which it will not come, of work that fails on the way."""
    real_time: bool = False
    """It goes on while the service clock stands, and ``remaining`` is an estimate."""


class ObservedDomain(Struct, frozen=True):
    ref: DomainRef
    """Where it was found; a crash in the middle of a move may have made that another host than was asked."""
    power: Power
    reason: Reason | None = None
    since: int | None = None
    spec: DomainSpec | None = None
    """For the next boot."""
    active: DomainSpec | None = None
    """What it runs with."""
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
    """One disk inside a backup."""

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
    """The machine that it is plugged into."""
    content: str | None = None
    """A fingerprint of its bytes, from a driver that has one at hand."""
    busy: bool = False


class ObservedImage(Struct, frozen=True):
    ref: ImageRef
    presence: Presence
    size: int = 0
    """MB that a disk needs to hold it."""
    content: str | None = None
    """A fingerprint of its bytes, from a driver that has one at hand."""


class Host(Struct, frozen=True):
    id: int
    region: str
    state: Literal["up", "maintenance", "unreachable"] = "up"


class Inventory(Struct, frozen=True):
    """All that is really there, for the sweeper that looks for orphans."""

    domains: tuple[DomainRef, ...] = ()
    disks: tuple[DiskRef, ...] = ()
    backups: tuple[BackupRef, ...] = ()
    unreachable: tuple[int, ...] = ()
    """Hosts that did not answer: what should be there is missing from the lists, and not gone."""
    volumes: tuple[VolumeRef, ...] = ()
    """Of every storage that answers, unless one host alone was asked."""
    images: tuple[ImageRef, ...] = ()


class Change(Struct, frozen=True):
    """A machine went on or off, or its host into maintenance or back, and nobody had ordered it."""

    number: int
    """Grows; the next question is for what came after it."""
    ref: DomainRef
    power: Power
    reason: Reason | None
    at: int


class Usage(Struct, frozen=True):
    """What a machine used up between two moments."""

    start: int
    stop: int
    cpu: int = 0
    """Milliseconds of one processor."""
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
