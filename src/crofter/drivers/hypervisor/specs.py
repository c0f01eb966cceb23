"""Specifications for a hypervisor: objects by number, and their wanted state."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from msgspec import Struct

Filesystem = Literal["raw", "swap", "ext3", "ext4", "initrd"]

_CATALOGUE_ID = re.compile(r"[a-z]+/[A-Za-z0-9][A-Za-z0-9._-]*")


def _from_catalogue(value: str) -> None:
    # Part of a file name on a host: user input must never match.
    if not _CATALOGUE_ID.fullmatch(value):
        raise ValueError(f"not an id of the catalogue: {value!r}")


class Ref(Struct, frozen=True, order=True):
    """A thing by number, and the host where it was put. Names on hosts are made of integers only."""

    kind: ClassVar[str] = ""
    prefix: ClassVar[str] = ""
    host: int
    id: int

    @property
    def name(self) -> str:
        return f"{self.prefix}{self.id}"


class DomainRef(Ref, frozen=True):
    """A virtual machine. Its id is the id of the instance."""

    kind = "domain"
    prefix = "i-"


class DiskRef(Ref, frozen=True):
    """A disk's volume in the pool of a host."""

    kind = "disk"
    prefix = "d"


class BackupRef(Ref, frozen=True):
    """The copies of some disks, taken at one moment and kept on the host where they were taken."""

    kind = "backup"
    prefix = "bk"


class VolumeRef(Struct, frozen=True, order=True):
    """A block storage volume. It lies in the storage of a region, which all hosts of the region reach."""

    region: str
    id: int

    @property
    def name(self) -> str:
        return f"v{self.id}"


def volume_serial(number: int) -> str:
    """Serial number of the disk that a volume is to the guest of a real machine."""
    return f"volume{number}"


class ImageRef(Ref, frozen=True):
    """An image that an account made, kept on one host and copied to others from there."""

    kind = "image"
    prefix = "im"


class Device(Struct, frozen=True):
    """A device at a slot of the machine: a disk of its host, or a block storage volume."""

    slot: Literal["sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh"]
    disk: int | None = None
    volume: int | None = None


class Interface(Struct, frozen=True):
    """A network card. Its place in the list is its number inside the guest."""

    purpose: Literal["public", "vlan"]
    vlan: int | None = None
    address: str | None = None


class DomainSpec(Struct, frozen=True):
    """A virtual machine as it should be at its next boot."""

    vcpus: int
    memory: int
    """MB."""
    devices: tuple[Device, ...] = ()
    interfaces: tuple[Interface, ...] = (Interface("public"),)
    kernel: str = "compute/grub2"
    root_device: str = "/dev/sda"
    run_level: Literal["default", "single", "binbash"] = "default"
    virt_mode: Literal["paravirt", "fullvirt"] = "paravirt"
    helpers: tuple[str, ...] = ()
    rescue: bool = False
    """Boot the rescue system, with the devices attached."""

    def __post_init__(self) -> None:
        _from_catalogue(self.kernel)

    @property
    def disks(self) -> tuple[int, ...]:
        return tuple(device.disk for device in self.devices if device.disk is not None)

    @property
    def volumes(self) -> tuple[int, ...]:
        return tuple(device.volume for device in self.devices if device.volume is not None)


class Rule(Struct, frozen=True):
    """A rule of a packet filter. Missing protocol, ports or addresses match any."""

    direction: Literal["inbound", "outbound"]
    action: Literal["ACCEPT", "DROP"]
    protocol: Literal["TCP", "UDP", "ICMP", "IPENCAP"] | None = None
    ports: str = ""
    addresses: tuple[str, ...] = ()


class Network(Struct, frozen=True):
    """The addresses that a machine may use, and the filter in front of it; applied while it runs."""

    addresses: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    """The first that matches decides; what none matches is let through."""
    generation: int = 0
    """Grows whenever something about it changes. Once a driver was given one, an older one is Stale."""
    guest: tuple[str, ...] = ()
    """The IPv4 addresses that are the machine's own, with their prefixes: what its guest is to be configured with."""
    gateway: str | None = None
    """The way out, in the network of the first of these."""


class DiskSpec(Struct, frozen=True):
    """Wanted state of a disk."""

    size: int
    """MB."""
    filesystem: Filesystem = "ext4"


class Empty(Struct, frozen=True):
    """A disk with its file system and nothing in it."""


class FromImage(Struct, frozen=True):
    """A disk that starts as a copy of an image: one of the catalogue, or one that an account made."""

    image: str
    minimum: int
    """MB that the image needs."""
    kept: ImageRef | None = None
    """Where the image of an account is; None for one of the catalogue."""

    def __post_init__(self) -> None:
        _from_catalogue(self.image)


class FromDisk(Struct, frozen=True):
    """A byte-for-byte copy, as the disk is when the copying begins. The disk may be on another host, and in use."""

    disk: DiskRef


class FromBackup(Struct, frozen=True):
    """A disk as it was when the backup was taken."""

    backup: BackupRef
    disk: int
    """Number of the disk that was backed up."""


Source = Empty | FromImage | FromDisk | FromBackup


class FromVolume(Struct, frozen=True):
    """A byte-for-byte copy of a volume of the same region, as it is when the copying begins. It may be in use."""

    volume: VolumeRef


VolumeSource = Empty | FromVolume


class FromUpload(Struct, frozen=True):
    """A gzip file that the server has received and checked. It stays until the work is done."""

    file: str
    """Its path, where the server and the driver both read it."""
    size: int
    """Unpacked size in MB."""
    digest: str
    """SHA-256 of what was unpacked, in hexadecimal."""


ImageSource = FromDisk | FromUpload


class Seed(Struct, frozen=True):
    """Data that a deployment writes into an idle disk. None and empty values change nothing."""

    password: str | None = None
    keys: tuple[str, ...] = ()
    hostname: str | None = None
    script: str | None = None
    """Run once, at the first boot."""

    def __repr__(self) -> str:
        return f"Seed({len(self.keys)} keys)"  # password and script never reach a log
