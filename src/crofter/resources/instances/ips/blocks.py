"""Pool of addresses: blocks of regions, and released addresses.

A block is divided into parts. A transaction that draws an address locks its part until commit, and concurrent
transactions use other parts: accounts do not wait for each other here.
"""

from __future__ import annotations

import ipaddress

from msgspec import Struct

from crofter.context import Context
from crofter.db import Flag, Lock, Row, Session, Time, query, table
from crofter.db.sql import Column, Index, Integer, PrimaryKeyConstraint, Text, bindparam, func, select
from crofter.errors import Invalid

PUBLIC = ipaddress.IPv4Network("100.64.0.0/10")
"""Shared address space, so that a sandbox never shows a real address."""
BLOCK = 16
"""The prefix of what a region is given at a time."""
BLOCKS = 1 << BLOCK - PUBLIC.prefixlen
PARTS = 8
"""Parts per block: the number of transactions that may draw at the same time."""
PER_24 = 253
NONE_LEFT = "No addresses are left in this region."
PRIVATE = ipaddress.IPv4Network("192.168.128.0/17")
_PUBLIC_BEGINS, _PRIVATE_BEGINS = int(PUBLIC.network_address), int(PRIVATE.network_address)

# The block of addresses that each region has last been given, in parts, and how many of each have been given out.
address_block = table(
    "address_block",
    Column("region", Text, nullable=False),
    Column("public", Flag, nullable=False),
    Column("part", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    PrimaryKeyConstraint("region", "public", "part"),
    sqlite_without_rowid=True,
)
released_address = table(
    "released_address",
    Column("address", Text, nullable=False),
    Column("region", Text, nullable=False),
    Column("public", Flag, nullable=False),
    Column("free_at", Time, nullable=False),
    PrimaryKeyConstraint("address", "region"),
    Index("ix_released_address_free", "region", "public", "free_at", "address"),
    sqlite_without_rowid=True,
)
# Networks that an operator gave to regions. Such a region has no blocks: its free addresses are among the released
# ones.
region_network = table(
    "region_network",
    Column("network", Text, primary_key=True),
    Column("region", Text, nullable=False),
    Column("gateway", Text),
    Column("first", Text),
    Column("last", Text),
    sqlite_without_rowid=True,
)


class Part(Row):
    """A part of a region's block that has addresses left."""

    part: int
    number: int
    used: int


_LEFT = (
    select(address_block.c.part, address_block.c.number, address_block.c.used)
    .where(
        address_block.c.region == bindparam("region"),
        address_block.c.public == bindparam("public"),
        address_block.c.used < bindparam("capacity"),
    )
    .order_by(address_block.c.part)
    .limit(1)
)
_UNUSED_BY_OTHERS = query(_LEFT.with_for_update(skip_locked=True), Part)
_WAITED_FOR = query(_LEFT.with_for_update(), Part)
_ANY = query(_LEFT, Part)
_RESTED = query(
    select(released_address.c.address)
    .where(
        released_address.c.region == bindparam("region"),
        released_address.c.public == bindparam("public"),
        released_address.c.free_at <= bindparam("now"),
    )
    .order_by(released_address.c.free_at, released_address.c.address)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_LAST_BLOCK = query(select(func.coalesce(func.max(address_block.c.number), -1)).where(address_block.c.public.is_(True)))

HAS_NETWORKS = query(select(func.count()).where(region_network.c.region == bindparam("region")))


class TakenAddress(Struct, frozen=True):
    """How many addresses of a part are given out. A transaction writes it down once, after the last."""

    region: str
    public: bool
    part: int
    number: int
    used: int

    def write(self, db: Session) -> None:
        place = {"region": self.region, "public": self.public, "part": self.part}
        db.update_later(address_block, place, used=self.used)


def draw(ctx: Context, region: str, *, public: bool) -> str:
    """The next address of the region's block; when that is used up one that came back, or the first of a new block."""
    key = ("addresses", region, public)
    drawn = ctx.db.deferred(key, TakenAddress)
    if drawn is not None and drawn.used >= _capacity(public=public):
        drawn.write(ctx.db)  # this transaction goes on in another part
        drawn = None
    part = drawn or _part_with_free_addresses(ctx, region, public=public)
    if part is None:
        rested: str | None = ctx.db.value(_RESTED, region=region, public=public, now=ctx.now)
        if rested is not None:
            ctx.db.delete(released_address, address=rested, region=region)
            ctx.db.deferred_writes.pop(key, None)
            return rested
        part = _new_block(ctx, region, public=public)
    ctx.db.deferred_writes[key] = TakenAddress(region, public, part.part, part.number, part.used + 1)
    first = _PUBLIC_BEGINS + (part.number << 32 - BLOCK) if public else _PRIVATE_BEGINS
    return _numbered(first, part.part * _capacity(public=public) + part.used)


def _part_with_free_addresses(ctx: Context, region: str, *, public: bool) -> Part | None:
    """Return an unlocked part with free addresses; if there is none, wait for the first that is released."""
    wanted = {"region": region, "public": public, "capacity": _capacity(public=public)}
    part = ctx.db.maybe(_UNUSED_BY_OTHERS, **wanted)
    while part is None and ctx.db.maybe(_ANY, **wanted) is not None:
        part = ctx.db.maybe(_WAITED_FOR, **wanted)
    return part


def _new_block(ctx: Context, region: str, *, public: bool) -> Part:
    """The first part of a block that no region has had. Private ones are the same everywhere."""
    ctx.db.lock(Lock.ADDRESS_POOLS)
    part = _part_with_free_addresses(ctx, region, public=public)
    if part is not None:
        return part  # taken by another transaction
    if public and ctx.db.value(HAS_NETWORKS, region=region):
        raise Invalid(NONE_LEFT)
    number = int(ctx.db.value(_LAST_BLOCK)) + 1 if public else 0
    replaced = ctx.db.delete(address_block, region=region, public=public)
    left = number < BLOCKS if public else not replaced
    if not left:
        raise Invalid(NONE_LEFT)
    for place in range(PARTS):
        ctx.db.insert(address_block, region=region, public=public, part=place, number=number, used=0)
    return Part(0, number, 0)


def _capacity(*, public: bool) -> int:
    """How many addresses of a part can be given out."""
    return (1 << 24 - (BLOCK if public else PRIVATE.prefixlen)) * PER_24 // PARTS


def _numbered(first: int, number: int) -> str:
    """Address ``number`` of a network, leaving out what each /24 keeps: its name, its gateway, its broadcast."""
    block, place = divmod(number, PER_24)
    whole = first + block * 256 + 2 + place
    return f"{whole >> 24}.{whole >> 16 & 255}.{whole >> 8 & 255}.{whole & 255}"
