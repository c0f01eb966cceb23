"""Network helper: writes the addresses of a machine into its guest where our DHCP does not serve them.

On QEMU's user network the guest gets its address by DHCP. On a bridge its configuration is written to the root disk
before a boot, for each common system. It is rewritten only after a change, so that edits of the owner stay.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from crofter.drivers.hypervisor.ledger.entries import Domain, digest
from crofter.drivers.hypervisor.libvirt import helper, names, networks, scripts
from crofter.drivers.hypervisor.libvirt.domain_xml import Card
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import JobContext
from crofter.drivers.hypervisor.libvirt.scripts import GuestFile
from crofter.drivers.hypervisor.specs import DomainSpec, Network

log = logging.getLogger("crofter")

HELPER = "network"
"""Name of the helper in a configuration profile."""
HEAD = "# Written before the boot, by the network helper of the configuration profile.\n"


class Nic(Struct, frozen=True):
    """A network card as the guest is to use it."""

    name: str
    mac: str
    addresses: tuple[str, ...]
    """IPv4, with their prefixes."""
    gateway: str | None
    public: bool
    """True if a router announces the IPv6 network. The host part is derived from the card; others are filtered."""


def write(job: JobContext, host: HostClient, number: int, doc: Domain, cards: tuple[Card, ...]) -> None:
    """Before the machine starts. A disk that cannot be written to boots all the same, with what it has."""
    disk = _root_disk(doc.spec)
    if host.entry.bridge is None or HELPER not in doc.spec.helpers or doc.spec.rescue or disk is None:
        return
    network = networks.network_of(job, number)
    wanted = files(nics(cards, doc.spec, network), host.entry.resolving)
    written = digest(disk, wanted)
    if written == doc.configured:
        return
    try:
        helper.run(job, host, names.disk(disk), scripts.network_script(wanted, host.entry.resolving))
    except helper.HelperFailed as error:
        log.warning("job %s: the network of instance %s is not configured: %s", job.number, number, error)
        if not error.answer:
            return  # the helper was killed and runs again at the next boot; a retry now would give the same result
    job.becomes["domain", number] = replace(job.planned(Domain, number), configured=written)


def _root_disk(spec: DomainSpec) -> int | None:
    slot = spec.root_device.removeprefix("/dev/")
    return next((device.disk for device in spec.devices if device.slot == slot), None)


def nics(cards: tuple[Card, ...], spec: DomainSpec, network: Network) -> tuple[Nic, ...]:
    made = []
    for place, (card, interface) in enumerate(zip(cards, spec.interfaces, strict=True)):
        if interface.purpose == "public":
            made.append(Nic(f"eth{place}", card.mac, network.guest, network.gateway, public=True))
        else:
            addresses = () if interface.address is None else (interface.address,)
            made.append(Nic(f"eth{place}", card.mac, addresses, None, public=False))
    return tuple(made)


def files(cards: tuple[Nic, ...], resolvers: tuple[str, ...]) -> tuple[GuestFile, ...]:
    return (
        GuestFile("/etc/network/interfaces", HEAD + "\n".join(_ifupdown(cards, resolvers)), "/etc/network"),
        GuestFile(
            "/var/lib/cloud/seed/nocloud/network-config", HEAD + "\n".join(_cloud_init(cards, resolvers)), "/etc/cloud"
        ),
        *(file for card in cards for file in _of_card(card, resolvers)),
    )


def _of_card(card: Nic, resolvers: tuple[str, ...]) -> Iterator[GuestFile]:
    # The name that ifupdown uses, independent of the slot. systemd reads the matching file with the lowest number.
    link = f"[Match]\nMACAddress={card.mac}\n\n[Link]\nName={card.name}\n"
    yield GuestFile(f"/etc/systemd/network/05-{card.name}.link", HEAD + link, "/etc/systemd")
    networkd = "\n".join(_networkd(card, resolvers))
    yield GuestFile(f"/etc/systemd/network/05-{card.name}.network", HEAD + networkd, "/etc/systemd/network")
    manager = "\n".join(_network_manager(card, resolvers))
    path = f"/etc/NetworkManager/system-connections/{card.name}.nmconnection"
    yield GuestFile(path, HEAD + manager, "/etc/NetworkManager", "600")


def _ifupdown(cards: tuple[Nic, ...], resolvers: tuple[str, ...]) -> Iterator[str]:
    yield from ("auto lo", "iface lo inet loopback")
    for card in cards:
        yield from ("", f"auto {card.name}")
        if not card.addresses:
            yield f"iface {card.name} inet manual"
        for place, address in enumerate(card.addresses):
            yield from (f"iface {card.name} inet static", f"    address {address}")
            if place == 0 and card.gateway is not None:
                yield f"    gateway {card.gateway}"
                if resolvers:
                    yield f"    dns-nameservers {' '.join(resolvers)}"
        if card.public:
            yield from (f"iface {card.name} inet6 auto", "    privext 0")
    yield ""


def _networkd(card: Nic, resolvers: tuple[str, ...]) -> Iterator[str]:
    yield from ("[Match]", f"MACAddress={card.mac}", "", "[Network]", "DHCP=no", f"IPv6AcceptRA={_yes(card.public)}")
    yield from ("IPv6LinkLocalAddressGenerationMode=eui64", "IPv6PrivacyExtensions=no")
    yield from (f"Address={address}" for address in card.addresses)
    if card.gateway is not None:
        yield f"Gateway={card.gateway}"
        yield from (f"DNS={resolver}" for resolver in resolvers)
    yield ""


def _network_manager(card: Nic, resolvers: tuple[str, ...]) -> Iterator[str]:
    yield from ("[connection]", f"id={card.name}", "type=ethernet", "autoconnect-priority=100")
    yield from ("", "[ethernet]", f"mac-address={card.mac.upper()}", "", "[ipv4]")
    yield f"method={'manual' if card.addresses else 'disabled'}"
    for place, address in enumerate(card.addresses, 1):
        gateway = f",{card.gateway}" if place == 1 and card.gateway is not None else ""
        yield f"address{place}={address}{gateway}"
    if card.gateway is not None and (listed := _of_version(resolvers, 4)):
        yield f"dns={''.join(f'{resolver};' for resolver in listed)}"
    yield from ("", "[ipv6]", f"method={'auto' if card.public else 'ignore'}", "addr-gen-mode=eui64", "ip6-privacy=0")
    if card.public and (listed := _of_version(resolvers, 6)):
        yield f"dns={''.join(f'{resolver};' for resolver in listed)}"
    yield ""


def _cloud_init(cards: tuple[Nic, ...], resolvers: tuple[str, ...]) -> Iterator[str]:
    yield from ("version: 2", "ethernets:")
    for card in cards:
        yield from (f"  {card.name}:", "    match:", f'      macaddress: "{card.mac}"', f"    set-name: {card.name}")
        yield from ("    dhcp4: false", f"    accept-ra: {str(card.public).lower()}")
        if card.addresses:
            yield f"    addresses: [{_quoted(card.addresses)}]"
        if card.gateway is not None:
            # Not in the word for it: older ones take that for an address.
            yield f'    routes: [{{to: 0.0.0.0/0, via: "{card.gateway}"}}]'
            if resolvers:
                yield f"    nameservers: {{addresses: [{_quoted(resolvers)}]}}"
    yield ""


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _quoted(texts: tuple[str, ...]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _of_version(resolvers: tuple[str, ...], version: int) -> list[str]:
    return [resolver for resolver in resolvers if (":" in resolver) == (version == 6)]
