"""Private networks of tenants on a host's bridge: each has a tag there that no other one of the region has.

Ethernet knows 4094 tags, and all tenants of a region share them, so networks are given some only as long as machines
use them. Their cards are on a network of libvirt's own that stands for the bridge: libvirt starts no machine without
it, and turns the bridge's VLAN filtering on when it starts the network. On a bridge that does not filter, a tag would
be taken without a complaint, and its card would be on the public network instead.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from crofter.db import Row, query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.things import Domain
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger
from crofter.drivers.hypervisor.libvirt.job_context import JobContext


class Given(Row):
    vlan: int
    tag: int


_tags = tables.vlan_tag.c
_OF_REGION = query(select(_tags.vlan, _tags.tag).where(_tags.region == bindparam("region")), Given)


def tag(job: JobContext, host: HostClient, vlan: int | None) -> int:
    """The tag of a network where the machine is, given to it now if it has none yet."""
    if vlan is None or not host.entry.tags:
        raise Refused("The host of this instance has no network for VLANs.")
    region = host.entry.region
    with job.hosts.store.reading() as ledger:
        known = _known(ledger, region).get(vlan)
    if known is None:
        with job.hosts.store.writing() as ledger:
            ledger.lock_hosts([ledger.fleet.storage(region)])
            known = _known(ledger, region).get(vlan) or _give(ledger, host, vlan)
    if known not in host.entry.tags:
        raise Refused("The host of this instance does not have its VLAN.")
    return known


def _known(ledger: HostLedger, region: str) -> dict[int, int]:
    return {row.vlan: row.tag for row in ledger.db.all(_OF_REGION, region=region)}


def _give(ledger: HostLedger, host: HostClient, vlan: int) -> int:
    region = host.entry.region
    taken = _known(ledger, region)
    free = _lowest(host.entry.tags, taken)
    if free is None:
        # A profile may have been changed under a machine that still runs with the old one: machines decide, not it.
        used = _used(ledger)
        for unused in taken.keys() - used:
            ledger.db.delete(tables.vlan_tag, region=region, vlan=unused)
        free = _lowest(host.entry.tags, {number: taken[number] for number in taken.keys() & used})
    if free is None:
        raise Refused("The hosts of this region have no VLAN left.")
    ledger.db.insert(tables.vlan_tag, region=region, tag=free, vlan=vlan)
    return free


def _lowest(tags: range, taken: dict[int, int]) -> int | None:
    given = set(taken.values())
    return next((tag for tag in tags if tag not in given), None)


def _used(ledger: HostLedger) -> set[int]:
    """The networks that machines have, or will have with their next boot."""
    things = ledger.all(Domain)
    states = [state for thing in things for state in (thing.doc, thing.becomes) if state is not None]
    specs = [spec for state in states for spec in (state.spec, state.active) if spec is not None]
    return {interface.vlan for spec in specs for interface in spec.interfaces if interface.vlan is not None}


def put_network(host: HostClient) -> None:
    """The network that stands for the bridge is there and on, after a restart of the host too."""
    connection, name, bridge = host.work_connection, host.names.vlans, host.entry.bridge
    assert bridge is not None
    try:
        network = connection.networkLookupByName(name)
    except LibvirtError as error:
        if code(error) != virt.VIR_ERR_NO_NETWORK:
            raise
        network = connection.networkDefineXML(
            f"<network><name>{name}</name><forward mode='bridge'/>"
            f"<bridge name={quoteattr(bridge)} macTableManager='libvirt'/></network>"
        )
        network.setAutostart(1)
    if not network.isActive():
        network.create()
