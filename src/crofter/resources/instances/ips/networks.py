"""Networks of the operator's own: a region that was given one draws its public addresses from it, and no others.

Their free addresses lie among those that came back. Who adds a network puts them there.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from crofter.context import Context
from crofter.db import Lock, Row, Session, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid
from crofter.resources.instances.ips import blocks
from crofter.resources.instances.ips.blocks import HAS_NETWORKS, address_block, region_network, released_address

LARGEST = 16
"""The shortest prefix: each address is a row."""
KEPT = (0, 1, 255)
"""Reserved in each /24 of a network without its own gateway: network, gateway, broadcast."""


class PublicNetwork(Row):
    network: str
    region: str
    gateway: str | None
    """None for a network of an earlier release: each /24 of it counts as a network of its own, with .1 as gateway."""
    first: str | None
    last: str | None

    @property
    def addresses(self) -> Iterator[str]:
        """Yield the usable addresses in order."""
        if self.first is None or self.last is None:
            network = ipaddress.IPv4Network(self.network)
            return (str(address) for address in network if int(address) & 255 not in KEPT)
        span = range(int(ipaddress.IPv4Address(self.first)), int(ipaddress.IPv4Address(self.last)) + 1)
        return (text for number in span if (text := str(ipaddress.IPv4Address(number))) != self.gateway)


class Surroundings(NamedTuple):
    """Network of an address, as its guest needs to know it."""

    prefix: int
    gateway: str | None


_ALL = query(select(*(region_network.c[name] for name in PublicNetwork.__struct_fields__)), PublicNetwork)
_WITH_GATEWAY = query(
    select(*(region_network.c[name] for name in PublicNetwork.__struct_fields__)).where(
        region_network.c.gateway.is_not(None)
    ),
    PublicNetwork,
)
_OF_REGION = select(released_address.c.address).where(
    released_address.c.region == bindparam("region"), released_address.c.public.is_(True)
)
_FREE = query(_OF_REGION)
_FREE_FOR_GOOD = query(_OF_REGION.with_for_update())
_DRAWN_FOR_GOOD = query(
    select(address_block.c.used)
    .where(address_block.c.region == bindparam("region"), address_block.c.public.is_(True))
    .with_for_update()
)
"""Both wait for transactions that draw addresses, which would otherwise be missed in the count."""


def all_of(db: Session) -> list[PublicNetwork]:
    return sorted(db.all(_ALL), key=lambda row: (row.region, ipaddress.IPv4Network(row.network)))


def free(db: Session, row: PublicNetwork) -> int:
    return len(_within(row, db.column(_FREE, region=row.region)))


def size(row: PublicNetwork) -> int:
    """Return the number of usable addresses of a network."""
    return sum(1 for _ in row.addresses)


class Networks:
    """The networks of all regions, as one transaction sees them. They are read when they are first needed."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    @cached_property
    def _rows(self) -> list[tuple[ipaddress.IPv4Network, PublicNetwork]]:
        return [(ipaddress.IPv4Network(row.network), row) for row in self._ctx.db.all(_WITH_GATEWAY)]

    def around(self, address: str, region: str, *, public: bool) -> Surroundings:
        if not public:
            return Surroundings(blocks.PRIVATE.prefixlen, None)
        for network, row in self._rows:
            if row.region == region and ipaddress.IPv4Address(address) in network:
                return Surroundings(network.prefixlen, row.gateway)
        return Surroundings(24, f"{address.rpartition('.')[0]}.1")


def add(db: Session, region: str, text: str, gateway: str | None = None, addresses: str | None = None) -> PublicNetwork:
    """Give the region a network. ``addresses`` are those to give out, as ``FIRST-LAST``."""
    added = _described(_parsed(text), region, gateway, addresses)
    network = ipaddress.IPv4Network(added.network)
    db.lock(Lock.ADDRESS_POOLS)
    for row in db.all(_ALL):
        if network.overlaps(ipaddress.IPv4Network(row.network)):
            raise Invalid(f"{network} overlaps with {row.network} of {row.region}")
    if not db.value(HAS_NETWORKS, region=region):
        _leave_built_in(db, region)
    db.insert(region_network, **msgspec.structs.asdict(added))
    # In this order they are drawn. All are earlier than any clock.
    for place, address in enumerate(added.addresses):
        db.insert(released_address, address=address, region=region, public=True, free_at=place)
    return added


def _parsed(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        hint = "; the IPv6 prefix of a region is a setting, [regions.ID] ipv6" if ":" in text else ""
        raise Invalid(f"{text} is no IPv4 network like 203.0.113.0/24: {error}{hint}") from None
    if network.prefixlen < LARGEST:
        raise Invalid(f"{text} is too large: at most /{LARGEST}, and several of them if need be")
    return network


def _described(
    network: ipaddress.IPv4Network, region: str, gateway: str | None, addresses: str | None
) -> PublicNetwork:
    """The network with its gateway, and what is given out of it: never its name, broadcast or gateway."""
    first, last = network[0], network[-1]
    if network.prefixlen < 31:
        first, last = network[1], network[-2]
    way_out = _within_hosts(gateway, first, last, "gateway") if gateway else first
    if addresses:
        begins, _, ends = addresses.partition("-")
        first, last = (
            _within_hosts(begins, first, last, "first address"),
            _within_hosts(ends or begins, first, last, "last address"),
        )
    row = PublicNetwork(str(network), region, str(way_out), str(first), str(last))
    if next(row.addresses, None) is None:
        raise Invalid(f"{network} has no address that could be given out beside its gateway {way_out}")
    return row


def _within_hosts(
    text: str, first: ipaddress.IPv4Address, last: ipaddress.IPv4Address, name: str
) -> ipaddress.IPv4Address:
    try:
        address = ipaddress.IPv4Address(text.strip())
    except ValueError:
        raise Invalid(f"the {name} is an IPv4 address, and {text!r} is none") from None
    if not first <= address <= last:
        raise Invalid(f"the {name} {address} is not one of {first} to {last}")
    return address


def _leave_built_in(db: Session, region: str) -> None:
    """Remove the region's built-in addresses. None of them may be in use."""
    used = sum(db.column(_DRAWN_FOR_GOOD, region=region)) - len(db.column(_FREE_FOR_GOOD, region=region))
    if used:
        raise Invalid(f"built-in addresses of {region} are in use ({used}): add networks first")
    db.delete(address_block, region=region, public=True)
    db.delete(released_address, region=region, public=True)


def remove(db: Session, text: str) -> PublicNetwork:
    db.lock(Lock.ADDRESS_POOLS)
    row = next((row for row in db.all(_ALL) if row.network == text), None)
    if row is None:
        raise Invalid(f"{text} is no network of any region")
    addresses = _within(row, db.column(_FREE_FOR_GOOD, region=row.region))
    used = size(row) - len(addresses)
    if used:
        raise Invalid(f"addresses of {text} are in use ({used})")
    for address in addresses:
        db.delete(released_address, address=address, region=row.region)
    db.delete(region_network, network=row.network)
    return row


def _within(row: PublicNetwork, addresses: list[str]) -> list[str]:
    network = ipaddress.IPv4Network(row.network)
    return [address for address in addresses if ipaddress.IPv4Address(address) in network]
