"""Private networks of tenants on a host's bridge: each has a tag there that no other one has.

Ethernet knows 4094 tags, and all tenants share them, so that networks keep theirs only as long as machines use them.
Their cards are on a network of libvirt's own that stands for the bridge: libvirt starts no machine without it, and
turns the bridge's VLAN filtering on when it starts the network. On a bridge that does not filter, a tag would be taken
without a complaint, and its card would be on the public network instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import quoteattr

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Domain
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.fleet import VLAN_TAGS
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger
from crofter.drivers.hypervisor.libvirt.job_context import JobContext

LOCK = -1
"""Lock number for reading and assigning tags, in place of a host's number."""


def tag(job: JobContext, host: HostClient, vlan: int | None) -> int:
    """The tag of a network, given to it now if it has none yet; Refused where it cannot be on the host."""
    tags = host.entry.tags
    if vlan is None or not tags:
        raise Refused("The host of this instance has no network for VLANs.")
    # Never read without the lock: who gives tags anew must not overlook a machine that is about to use one.
    with job.hosts.store.writing() as ledger:
        ledger.lock_hosts([LOCK])
        given = {row.vlan: row.tag for row in ledger.db.all(VLAN_TAGS)}
        known = given[vlan] if vlan in given else _give(ledger, tags, given, vlan)
    if known not in tags:
        raise Refused("The host of this instance does not have its VLAN.")
    return known


def _give(ledger: HostLedger, tags: range, given: dict[int, int], vlan: int) -> int:
    free = _lowest(tags, given.values())
    if free is None:
        # A profile may have been changed under a machine that still runs with the old one: machines decide, not it.
        used = _used(ledger)
        for unused in given.keys() - used:
            ledger.db.delete(tables.vlan_tag, vlan=unused)
        free = _lowest(tags, [given[number] for number in given.keys() & used])
    if free is None:
        raise Refused("The hosts of this region have no VLAN left.")
    ledger.db.insert(tables.vlan_tag, vlan=vlan, tag=free)
    return free


def _lowest(tags: range, given: Iterable[int]) -> int | None:
    taken = set(given)
    return next((tag for tag in tags if tag not in taken), None)


def _used(ledger: HostLedger) -> set[int]:
    """The networks that machines have, or will have with their next boot; on hosts that were declared lost, too."""
    specs = [spec for state in ledger.states(Domain) for spec in (state.spec, state.active) if spec is not None]
    return {interface.vlan for spec in specs for interface in spec.interfaces if interface.vlan is not None}


def put_network(host: HostClient) -> None:
    """The network that stands for the bridge is there and on, after a restart of the host too."""
    assert host.entry.bridge is not None
    network = _network(host.work_connection, host.names.vlans, host.entry.bridge)
    if network.bridgeName() != host.entry.bridge:
        raise Refused("The host has its VLANs on another bridge.")
    try:
        network.setAutostart(1)
        if not network.isActive():
            network.create()
    except LibvirtError:
        if not network.isActive():  # otherwise another process has started the network
            raise


def _network(connection: Any, name: str, bridge: str) -> Any:
    try:
        return connection.networkLookupByName(name)
    except LibvirtError as error:
        if code(error) != virt.VIR_ERR_NO_NETWORK:
            raise
    wanted = f"<bridge name={quoteattr(bridge)} macTableManager='libvirt'/>"
    try:
        return connection.networkDefineXML(f"<network><name>{name}</name><forward mode='bridge'/>{wanted}</network>")
    except LibvirtError:  # two jobs, or two processes, may need it for the first time
        return connection.networkLookupByName(name)
