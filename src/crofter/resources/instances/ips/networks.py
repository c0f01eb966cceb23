"""Networks of the operator's own: a region that was given one draws its public addresses from it, and no others.

Their free addresses lie among those that came back. Who adds a network puts them there.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from crofter.db import Lock, Row, Session, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid
from crofter.resources.instances.ips.blocks import HAS_NETWORKS, address_block, public_network, released_address

LARGEST = 16
"""The shortest prefix: each address is a row."""
KEPT = (0, 1, 255)
"""Of each /24: its name, its gateway, its broadcast."""


class PublicNetwork(Row):
    network: str
    region: str


_ALL = query(select(public_network.c.network, public_network.c.region), PublicNetwork)
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
"""Both wait for whoever is about to draw one: it would have an address that nobody counted."""


def all_of(db: Session) -> list[PublicNetwork]:
    return sorted(db.all(_ALL), key=lambda row: (row.region, ipaddress.IPv4Network(row.network)))


def free(db: Session, row: PublicNetwork) -> int:
    return len(_within(row, db.column(_FREE, region=row.region)))


def size(network: str) -> int:
    """How many addresses of it are given out."""
    return sum(1 for _ in _usable(ipaddress.IPv4Network(network)))


def add(db: Session, region: str, text: str) -> PublicNetwork:
    network = _parsed(text)
    db.lock(Lock.ADDRESS_POOLS)
    for row in db.all(_ALL):
        if network.overlaps(ipaddress.IPv4Network(row.network)):
            raise Invalid(f"{network} overlaps with {row.network} of {row.region}")
    if not db.value(HAS_NETWORKS, region=region):
        _leave_built_in(db, region)
    added = PublicNetwork(str(network), region)
    db.insert(public_network, network=added.network, region=region)
    # In this order they are drawn. All are earlier than any clock.
    for place, address in enumerate(_usable(network)):
        db.insert(released_address, address=address, region=region, public=True, free_at=place)
    return added


def _parsed(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise Invalid(f"{text} is no IPv4 network like 203.0.113.0/24: {error}") from None
    if network.prefixlen < LARGEST:
        raise Invalid(f"{text} is too large: at most /{LARGEST}, and several of them if need be")
    if next(_usable(network), None) is None:
        raise Invalid(f"{text} has no address that could be given out")
    return network


def _leave_built_in(db: Session, region: str) -> None:
    """What the region had of the built-in addresses is forgotten. Nobody may have one of them still."""
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
    used = size(row.network) - len(addresses)
    if used:
        raise Invalid(f"addresses of {text} are in use ({used})")
    for address in addresses:
        db.delete(released_address, address=address, region=row.region)
    db.delete(public_network, network=row.network)
    return row


def _within(row: PublicNetwork, addresses: list[str]) -> list[str]:
    network = ipaddress.IPv4Network(row.network)
    return [address for address in addresses if ipaddress.IPv4Address(address) in network]


def _usable(network: ipaddress.IPv4Network) -> Iterator[str]:
    return (str(address) for address in network if int(address) & 255 not in KEPT)
