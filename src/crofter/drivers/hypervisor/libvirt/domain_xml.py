"""XML of machines, disks and volumes for libvirt."""

from __future__ import annotations

import ipaddress
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from crofter.drivers.hypervisor.specs import Network, volume_serial

NAMESPACE = "urn:crofter:instance"
AGENT = "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
PORTS = 16
"""For drives and cards that come while a machine runs, besides those that it starts with."""
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"


class Drive(Struct, frozen=True):
    """A disk of a machine: ``vda`` for slot ``sda``, and so on."""

    path: str
    slot: str
    format: str = "qcow2"
    readonly: bool = False
    volume: int | None = None
    """Number of a block storage volume."""

    @property
    def serial(self) -> str:
        """Name of the disk inside the guest: of a volume its number, else the slot. At most 20 characters."""
        return self.slot if self.volume is None else volume_serial(self.volume)

    @property
    def target(self) -> str:
        return "vd" + self.slot[2:]


class Platform(Struct, frozen=True):
    """Platform that a host offers to machines."""

    architecture: str
    kvm: bool

    @property
    def type(self) -> str:
        return "kvm" if self.kvm else "qemu"

    @property
    def machine(self) -> str:
        return "virt" if self.architecture == "aarch64" else "q35"

    @property
    def console(self) -> str:
        return "ttyAMA0" if self.architecture == "aarch64" else "ttyS0"

    @property
    def processor(self) -> str:
        if self.kvm:
            return "<cpu mode='host-model'/>" if self.architecture == "x86_64" else "<cpu mode='host-passthrough'/>"
        model = "cortex-a72" if self.architecture == "aarch64" else "qemu64"
        return f"<cpu mode='custom'><model>{model}</model></cpu>"

    @property
    def firmware(self) -> str:
        """Without UEFI, an ARM machine has no ACPI, and its guest never hears of the power button."""
        if self.architecture != "aarch64":
            return ""
        code, variables = "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"
        return f"<loader readonly='yes' type='pflash'>{code}</loader><nvram template='{variables}'/>"


class Boot(Struct, frozen=True):
    """A kernel that is given to the machine; without one it boots from its first disk."""

    kernel: str
    initrd: str
    arguments: str


class Card(Struct, frozen=True):
    """A network card: on a bridge of the host, or on a network of QEMU's own."""

    mac: str
    bridge: str | None = None
    """Or libvirt's own network that stands for it, where the card has a tag."""
    vlan: int | None = None
    filter: str | None = None
    address: str | None = None
    """Address that the guest gets by DHCP on a user network."""
    forward: int | None = None


class MachineXml(Struct, frozen=True):
    name: str
    identity: str
    number: int
    platform: Platform
    memory: int
    vcpus: int
    drives: tuple[Drive, ...]
    boot: Boot | None = None
    cards: tuple[Card, ...] = ()
    helper: bool = False
    """A machine that works on disks: it has no network, no firmware, and is gone when it goes off."""


def drive(wanted: Drive) -> str:
    options = f"type='{wanted.format}' discard='unmap' detect_zeroes='unmap' error_policy='stop'"
    readonly = "<readonly/>" if wanted.readonly else ""
    return (
        f"<disk type='file' device='disk'><driver name='qemu' {options}/><source file={quoteattr(wanted.path)}/>"
        f"<target dev='{wanted.target}' bus='virtio'/><serial>{wanted.serial}</serial>{readonly}</disk>"
    )


def volume(name: str, capacity: int, format: str = "qcow2") -> str:
    """``capacity`` in bytes."""
    return (
        f"<volume><name>{escape(name)}</name><capacity>{capacity}</capacity>"
        f"<target><format type='{format}'/><permissions><mode>0600</mode></permissions></target></volume>"
    )


def pool(name: str, folder: str) -> str:
    return f"<pool type='dir'><name>{name}</name><target><path>{escape(folder)}</path></target></pool>"


def machine(wanted: MachineXml) -> str:
    platform = wanted.platform
    firmware = "" if wanted.helper else platform.firmware
    acpi = "<acpi/>" if platform.architecture != "aarch64" or not wanted.helper else ""
    gic = "<gic version='2'/>" if platform.architecture == "aarch64" and not platform.kvm else ""
    boot = "<boot dev='hd'/>"
    if wanted.boot is not None:
        arguments = escape(f"console={platform.console} {wanted.boot.arguments}")
        boot = f"<kernel>{escape(wanted.boot.kernel)}</kernel><initrd>{escape(wanted.boot.initrd)}</initrd>"
        boot += f"<cmdline>{arguments}</cmdline>"
    restart = "destroy" if wanted.helper else "restart"
    agent = "" if wanted.helper else AGENT
    ports = "" if wanted.helper else _ports()
    devices = ports + "".join(drive(disk) for disk in wanted.drives) + "".join(_bridged(card) for card in wanted.cards)
    return f"""<domain type='{platform.type}' xmlns:qemu='{QEMU}'>
<name>{wanted.name}</name><uuid>{wanted.identity}</uuid>
<metadata><crofter:instance xmlns:crofter='{NAMESPACE}' id='{wanted.number}'/></metadata>
<memory unit='MiB'>{wanted.memory}</memory><vcpu>{wanted.vcpus}</vcpu>
<os><type arch='{platform.architecture}' machine='{platform.machine}'>hvm</type>{firmware}{boot}</os>
<features>{acpi}{gic}</features>{platform.processor}
<on_poweroff>destroy</on_poweroff><on_reboot>{restart}</on_reboot><on_crash>destroy</on_crash>
<devices>{devices}<serial type='pty'/><console type='pty'/>{agent}
<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng></devices>
{_user_network(wanted.cards)}</domain>"""


def _ports() -> str:
    root = "<controller type='pci' index='0' model='pcie-root'/>"
    return root + "".join(f"<controller type='pci' index='{n}' model='pcie-root-port'/>" for n in range(1, PORTS + 1))


def _bridged(card: Card) -> str:
    if card.bridge is None:
        return ""
    if card.vlan is not None:
        return (
            f"<interface type='network'><mac address='{card.mac}'/><source network={quoteattr(card.bridge)}/>"
            f"<vlan><tag id='{card.vlan}'/></vlan><model type='virtio'/></interface>"
        )
    filtered = "" if card.filter is None else f"<filterref filter='{card.filter}'/>"
    return (
        f"<interface type='bridge'><mac address='{card.mac}'/><source bridge={quoteattr(card.bridge)}/>"
        f"<model type='virtio'/>{filtered}</interface>"
    )


def _user_network(cards: tuple[Card, ...]) -> str:
    """Return QEMU arguments for forwarded ports: libvirt supports these from version 9.2 on only."""
    arguments: list[str] = []
    for number, card in enumerate(cards):
        if card.bridge is None:
            arguments += ["-netdev", f"user,id=n{number},restrict=on{_leased(card)}{_forwarded(card)}"]
            slot = f"addr=0x{0x10 + number:x}"
            arguments += ["-device", f"virtio-net-pci,netdev=n{number},mac={card.mac},romfile=,{slot}"]
    listed = "".join(f"<qemu:arg value={quoteattr(argument)}/>" for argument in arguments)
    return f"<qemu:commandline>{listed}</qemu:commandline>" if listed else ""


def _leased(card: Card) -> str:
    if card.address is None:
        return ""
    network = ipaddress.ip_network(f"{card.address}/24", strict=False)
    hosts = [str(network[number]) for number in (1, 2, 3) if str(network[number]) != card.address]
    return f",net={network},dhcpstart={card.address},host={hosts[0]},dns={hosts[1]}"


def _forwarded(card: Card) -> str:
    target = "" if card.address is None else card.address
    return "" if card.forward is None else f",hostfwd=tcp:127.0.0.1:{card.forward}-{target}:22"


def public_card(network: Network, number: int) -> tuple[str, str | None]:
    """The MAC address that the guest's own IPv6 address follows from, and its first IPv4 address."""
    mac = f"f2:3c:95:{number >> 16 & 0xFF:02x}:{number >> 8 & 0xFF:02x}:{number & 0xFF:02x}"
    first = None
    for text in network.addresses:
        address = ipaddress.ip_interface(text).ip
        if address.version == 4:
            first = first or str(address)
            continue
        tail = address.packed[8:]
        if tail[3:5] == b"\xff\xfe":
            octets = bytes((tail[0] ^ 2, tail[1], tail[2], tail[5], tail[6], tail[7]))
            mac = octets.hex(":")
    return mac, first
