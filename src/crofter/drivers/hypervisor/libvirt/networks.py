"""Networks of machines: on a bridge of the host behind a filter of its own, or on a network that QEMU makes up."""

from __future__ import annotations

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Wiring
from crofter.drivers.hypervisor.libvirt import domain_xml, filters, vlans
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.domain_xml import Card
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import JobContext
from crofter.drivers.hypervisor.libvirt.performing import Work
from crofter.drivers.hypervisor.specs import DomainRef, DomainSpec, Network


def cards(job: JobContext, host: HostClient, number: int, spec: DomainSpec, *, boots: bool) -> tuple[Card, ...]:
    """Unless the machine boots now, a card whose VLAN is not on the host leads nowhere; else that is Refused."""
    network = network_of(job, number)
    bridge, made = host.entry.bridge, []
    for place, interface in enumerate(spec.interfaces):
        mac, address = domain_xml.public_card(network, number)
        if interface.purpose == "vlan":
            made.append(_vlan_card(job, host, _vlan_mac(number, place), interface.vlan, boots=boots))
        elif bridge is not None:
            made.append(Card(mac, bridge, filter=host.names.filter(number)))
        else:
            port = None if host.entry.forward is None else host.entry.forward + number
            made.append(Card(mac, address=address, forward=port))
    return tuple(made)


def _vlan_card(job: JobContext, host: HostClient, mac: str, vlan: int | None, *, boots: bool) -> Card:
    if vlan is None:  # left behind in another region
        return Card(mac)
    try:
        return Card(mac, host.names.vlans, vlans.tag(job, host, vlan))
    except Refused:
        if boots:
            raise
        return Card(mac)


def _vlan_mac(number: int, place: int) -> str:
    return f"f2:3c:96:{(number >> 16 & 0x3F) << 2 | place & 3:02x}:{number >> 8 & 0xFF:02x}:{number & 0xFF:02x}"


def network_of(job: JobContext, number: int) -> Network:
    """Return the last ordered network, even while its job is running."""
    with job.hosts.store.reading() as ledger:
        wiring = ledger.find(Wiring, number)
    if wiring is None:
        return Network()
    wired = wiring.becomes or wiring.doc
    return Network() if wired is None else wired.network


def apply(ref: DomainRef) -> Work:
    """On a bridge, the filter changes at once. On a user network, addresses count from the next boot on."""

    def work(job: JobContext) -> None:
        put_filter(job, job.host(ref.host), ref.id)

    return work


def prepare(job: JobContext, host: HostClient, number: int, *, tagged: bool) -> None:
    """Create the libvirt objects that the machine needs before its start. ``tagged``: it has cards on VLANs."""
    put_filter(job, host, number)
    if tagged:
        vlans.put_network(host)


def put_filter(job: JobContext, host: HostClient, number: int) -> None:
    if host.entry.bridge is None:
        return
    network = network_of(job, number)
    mac, _ = domain_xml.public_card(network, number)
    host.work_connection.nwfilterDefineXML(
        filters.filter_xml(host.names.filter(number), host.names.identity(number), mac, network)
    )


def drop_filter(host: HostClient, number: int) -> None:
    if host.entry.bridge is None:
        return
    try:
        host.work_connection.nwfilterLookupByName(host.names.filter(number)).undefine()
    except LibvirtError as error:
        if code(error) != virt.VIR_ERR_NO_NWFILTER:
            raise
