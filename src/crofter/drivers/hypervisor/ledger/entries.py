"""Entries of the ledger of a hypervisor, and how they change by themselves when time has come."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from crofter.drivers.hypervisor.reports import Reason, SavedDisk
from crofter.drivers.hypervisor.specs import DiskSpec, DomainSpec, Empty, Filesystem, FromImage, Network

RUNS_KEPT = 64
"""Past runs that a machine remembers one by one; the oldest two are then counted as one."""


class Domain(Struct, frozen=True):
    kind: ClassVar[str] = "domain"
    spec: DomainSpec
    on: bool = False
    reason: Reason | None = "ours"
    since: int = 0
    active: DomainSpec | None = None
    resumes: bool = False
    runs: tuple[tuple[int, int], ...] = ()
    plugged: tuple[int, ...] = ()
    """Volumes plugged into the running machine."""
    configured: str = ""
    """A digest of the network that was last written into its guest, and of the disk that it was written onto."""

    def started(self, at: int) -> Domain:
        plugged = self.spec.volumes
        return replace(self, on=True, reason=None, since=at, active=self.spec, resumes=False, plugged=plugged)

    def stopped(self, at: int, reason: Reason, *, resumes: bool = False) -> Domain:
        if not self.on:
            return replace(self, reason=reason if self.resumes else self.reason, resumes=False)
        runs = (*self.runs, (self.since, at))
        if len(runs) > RUNS_KEPT:
            runs = ((runs[0][0], runs[1][1]), *runs[2:])
        return replace(self, on=False, reason=reason, since=at, active=None, resumes=resumes, runs=runs, plugged=())


class Disk(Struct, frozen=True):
    kind: ClassVar[str] = "disk"
    size: int
    filesystem: Filesystem
    used: int
    content: str
    ready: bool = False
    user: int | None = None
    """The machine that booted with it last. Whether it still uses it is that machine's to say."""
    image: str | None = None
    """The image of the catalogue that it began as, which says how its system boots."""


class Backup(Struct, frozen=True):
    kind: ClassVar[str] = "backup"
    disks: tuple[SavedDisk, ...]
    ready: bool = False


class Volume(Struct, frozen=True):
    """A volume in the storage of a region. The storage has a number like the region's hosts."""

    kind: ClassVar[str] = "volume"
    size: int
    content: str
    ready: bool = False
    user: int | None = None
    """The machine that it was plugged into last. Whether that still has it is that machine's to say."""


class Image(Struct, frozen=True):
    kind: ClassVar[str] = "image"
    size: int
    used: int
    content: str
    ready: bool = False
    image: str | None = None


class Wiring(Struct, frozen=True):
    """The network of a machine: a thing of its own, because a firewall changes while its machine is worked on.

    It is wherever its machine is.
    """

    kind: ClassVar[str] = "wiring"
    network: Network = Network()


D = TypeVar("D", Domain, Disk, Backup, Image, Wiring, Volume)


class Entry(Struct, Generic[D], frozen=True):
    """State of an object in the ledger: now, and from ``due`` on.

    Without a document the object is gone for good. No process has to act at ``due``: later reads see the later state.
    So neither a restart nor a frozen clock needs care, and a poll writes nothing.
    """

    id: int
    host: int
    doc: D | None
    due: int | None = None
    becomes: D | None = None
    heading: int | None = None
    """Target host of a move."""
    operation: int = 0
    fence: int = 0

    def at(self, now: int) -> Entry[D]:
        if self.due is None or now < self.due:
            return self
        host = self.host if self.heading is None else self.heading
        return replace(self, host=host, doc=self.becomes, due=None, becomes=None, heading=None)


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def fresh_disk(spec: DiskSpec, source: Empty | FromImage) -> Disk:
    """A disk with its content and the space its files need, the same in every run."""
    if isinstance(source, FromImage):
        share = 50 + int(digest(source.image)[:8], 16) % 36
        used, content = max(1, source.minimum * share // 100), digest("image", source.image)
        return Disk(spec.size, spec.filesystem, used, content, image=source.image)
    return Disk(spec.size, spec.filesystem, _needed(spec), digest("empty", spec.filesystem))


def _needed(spec: DiskSpec) -> int:
    """Return the used size of a disk. Only the owner knows the contents of a raw disk, so it counts whole."""
    if spec.filesystem == "raw":
        return spec.size
    return spec.size // 64 + 1 if spec.filesystem in ("ext3", "ext4") else 0
