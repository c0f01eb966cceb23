"""Simulated hosts: a configurable count per region, numbered by the region's name."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.conditions import Conditions
from crofter.drivers.hypervisor.reports import Host

BLOCK = 1000
"""Numbers per region: the number of a host identifies its region. The first number is the region's storage."""


def code_of(region: str) -> int:
    """Return the number of a region's block, independent of the other regions."""
    return zlib.crc32(region.encode()) % 2_000_000


class Fleet:
    """Numbers come from names and not from order, so that a region added later moves no host."""

    def __init__(self, regions: Iterable[str], hosts_per_region: int) -> None:
        if not 1 <= hosts_per_region < BLOCK:
            raise ValueError(f"hosts per region: {hosts_per_region}")
        self._size = hosts_per_region
        self._codes = {region: code_of(region) for region in sorted(set(regions))}
        self.regions = frozenset(self._codes)
        self._names = {code: region for region, code in self._codes.items()}
        if len(self._names) != len(self._codes):
            raise ValueError("two regions have the same number; rename one")

    def region(self, host: int) -> str | None:
        known = 0 <= host % BLOCK <= self._size
        return self._names.get(host // BLOCK) if known else None

    def storage(self, region: str) -> int:
        """The number of a region's storage, for what lies on none of its hosts."""
        if region not in self._codes:
            raise Refused(f"There is no storage in region {region}.")
        return self._codes[region] * BLOCK

    def storage_beside(self, host: int) -> int:
        """The storage that a host reaches."""
        return host // BLOCK * BLOCK

    def hosts(self, conditions: Conditions) -> tuple[Host, ...]:
        hosts = []
        for code, region in sorted(self._names.items()):
            for number in range(1, self._size + 1):
                host = code * BLOCK + number
                if not self.reachable(conditions, host):
                    hosts.append(Host(host, region, "unreachable"))
                else:
                    hosts.append(Host(host, region, "maintenance" if host in conditions.maintenance else "up"))
        return tuple(hosts)

    def unreachable(self, conditions: Conditions) -> set[int]:
        """Return the hosts that do not answer. Derived from the faults, which are usually none."""
        hosts = {host for host in conditions.unreachable if host % BLOCK and self.region(host) is not None}
        for region in conditions.outages & self.regions:
            first = self._codes[region] * BLOCK + 1
            hosts.update(range(first, first + self._size))
        return hosts

    def reachable(self, conditions: Conditions, host: int) -> bool:
        return host not in conditions.unreachable and self.region(host) not in conditions.outages

    def must_reach(self, conditions: Conditions, host: int) -> None:
        if self.region(host) is None:
            raise Refused(f"There is no host {host}.")
        if not self.reachable(conditions, host):
            raise Unreachable(f"Host {host} does not answer.")

    def place(self, conditions: Conditions, region: str, domain: int, avoid: int | None) -> int:
        """The next usable host from the machine's own number on: neighbours spread, and a repeat agrees."""
        code = self._codes.get(region)
        if code is None:
            raise Refused(f"There is no host in region {region}.")
        for tried in range(self._size):
            host = code * BLOCK + (domain + tried) % self._size + 1
            if host != avoid and host not in conditions.maintenance and self.reachable(conditions, host):
                return host
        raise Unreachable(f"No host of region {region} takes a machine now.")
