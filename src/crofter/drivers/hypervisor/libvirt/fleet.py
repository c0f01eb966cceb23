"""The hosts that an operator has added: where they are, what they have, and whether they take machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from crofter.db import Row, Session, query
from crofter.db.sql import select
from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.conditions import Conditions
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, Fleet, code_of
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.reports import Host

State = Literal["up", "draining", "maintenance", "lost"]
"""``draining``: its machines run on and may boot, until they are moved to other hosts; none is placed there."""


class HostEntry(Row):
    """A host as it was added. Its number identifies its region, as for simulated hosts."""

    id: int
    region: str
    uri: str
    pool: str
    """Folder on the host for disks, images and backups; each installation has one of its own in it."""
    volumes: str | None
    """Folder for block storage volumes, which every host of the region reaches under the same name; None has none."""
    network: str
    """``user``: QEMU's own network, for a user without privileges. ``bridge:NAME``: a bridge of the host."""
    forward: int | None
    """On a user network, the port of the host's loopback address to which the SSH port of machine 0 would be bound."""
    architecture: str
    vcpus: int
    memory: int
    """MB for machines."""
    disk: int
    """MB for disks, backups and images."""
    state: State
    emulation: bool
    """True if machines may run without hardware virtualization, which does not isolate tenants."""
    resolvers: str | None
    """Comma-separated resolvers for guests on a bridge."""
    vlans: str | None
    """Range of VLAN tags for private networks on the bridge, such as ``100-199``; None disables these networks."""

    @property
    def bridge(self) -> str | None:
        return self.network.removeprefix("bridge:") if self.network.startswith("bridge:") else None

    @property
    def resolving(self) -> tuple[str, ...]:
        return tuple(self.resolvers.split(",")) if self.resolvers else ()

    @property
    def tags(self) -> range:
        if self.vlans is None:
            return range(0)
        first, _, last = self.vlans.partition("-")
        return range(int(first), int(last) + 1)


class VlanTag(Row):
    vlan: int
    tag: int


VLAN_TAGS = query(select(tables.vlan_tag.c.vlan, tables.vlan_tag.c.tag), VlanTag)
HOSTS = query(select(*tables.host.c).order_by(tables.host.c.id), HostEntry)


def load(db: Session) -> RealFleet:
    return RealFleet(db.all(HOSTS))


class RealFleet(Fleet):
    def __init__(self, entries: Iterable[HostEntry]) -> None:
        self.entries = {entry.id: entry for entry in entries}
        self._codes = {entry.region: code_of(entry.region) for entry in self.entries.values()}
        self._names = {code: region for region, code in self._codes.items()}
        self.regions = frozenset(self._codes)

    @property
    def lost(self) -> frozenset[int]:
        """Hosts that a person has declared dead: nothing runs there, and nothing is left there."""
        return frozenset(entry.id for entry in self.entries.values() if entry.state == "lost")

    def is_gone(self, host: int) -> bool:
        """True if nothing is left on the host: it was lost, or was taken out of the fleet."""
        return host % BLOCK != 0 and (host not in self.entries or self.entries[host].state == "lost")

    @property
    def closed(self) -> frozenset[int]:
        return frozenset(entry.id for entry in self.entries.values() if entry.state == "maintenance")

    def region(self, host: int) -> str | None:
        known = host in self.entries or host % BLOCK == 0
        return self._names.get(host // BLOCK) if known else None

    def of_region(self, region: str) -> list[HostEntry]:
        return [entry for entry in self.entries.values() if entry.region == region and entry.state != "lost"]

    def beside(self, storage: int) -> list[HostEntry]:
        """The hosts that reach a region's storage."""
        return [entry for entry in self.of_region(self._names.get(storage // BLOCK, "")) if entry.volumes is not None]

    def hosts(self, conditions: Conditions) -> tuple[Host, ...]:
        hosts = []
        for entry in self.entries.values():
            state: Literal["up", "maintenance", "unreachable"] = "up"
            if not self.reachable(conditions, entry.id):
                state = "unreachable"
            elif entry.state in ("maintenance", "lost"):
                state = "maintenance"
            hosts.append(Host(entry.id, entry.region, state))
        return tuple(hosts)

    def candidates(self, region: str, domain: int, avoid: int | None) -> list[HostEntry]:
        """The hosts of a region in the order in which a machine tries them: neighbours spread, a repeat agrees."""
        own = self.of_region(region)
        if not own:
            raise Refused(f"There is no host in region {region}.")
        if len(own) == 1:
            avoid = None  # there is no other: a machine that becomes larger does so where it is
        turned = [own[(domain + turn) % len(own)] for turn in range(len(own))]
        left = None if avoid is None else self.entries.get(avoid)
        able = [
            entry
            for entry in turned
            if entry.id != avoid
            and entry.state == "up"
            and (left is None or left.architecture == entry.architecture)  # a machine keeps its processor
        ]
        if not able:
            raise Unreachable(f"No host of region {region} takes a machine now.")
        return able
