"""IPv6 ranges: which are routed to which instance."""

from __future__ import annotations

import ipaddress
from typing import Any

from crofter.context import Context
from crofter.db import Id, Lock, Moment, Row, identity, owned, query, table
from crofter.db.sql import Column, ForeignKey, Index, Integer, Text, UniqueConstraint, bindparam, select
from crofter.errors import Invalid, NotFound
from crofter.resources.instances.ips.blocks import released_address
from crofter.resources.instances.ips.store import give_back, shared_address

POOL = 116
"""The prefix of pools, which are not given out any more."""
_DOCUMENTATION = 0x2001_0DB8 << 96
_LAST = 0xFFFF << 8

_NO_RANGES = "No ranges are left in this region."
SPACE = 56
"""Prefix of the space that each range has."""
_RESTING = "ipv6 ranges"
"""Region of all ranges among the released addresses: no region has this id, so no address is drawn from them."""

# A range is named after its row, and no number of a row comes twice. Each has the space of a /56, also where less of
# it is routed. The first /48 is left to the addresses that instances make for themselves.
ipv6_range = table(
    "ipv6_range",
    identity(),
    owned(),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False),
    Column("region", Text, nullable=False),
    Column("prefix", Integer, nullable=False),
    Column("created", Moment, nullable=False),
    UniqueConstraint("account_id", "region"),
    UniqueConstraint("instance_id"),
    Index("ix_ipv6_range_account_id", "account_id", "id"),
)


# Ranges of regions with a prefix of their own: the place of each among the spaces of that prefix.
placed_range = table(
    "placed_range",
    Column("range_id", Id, ForeignKey("ipv6_range.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("first", Text, nullable=False, unique=True),
)


class Range(Row):
    id: int
    account_id: int
    instance_id: int
    region: str
    prefix: int
    first: str | None
    """Its first address, if the region had a prefix of its own when the range was made."""

    @property
    def compute_id(self) -> int:
        return self.instance_id

    @property
    def text(self) -> str:
        """The range as it is named: its first address."""
        if self.first is not None:
            return self.first
        return str(ipaddress.IPv6Address(_DOCUMENTATION + ((self.id + (1 << 8)) << 72)))

    @property
    def with_prefix(self) -> str:
        return f"{self.text}/{self.prefix}"


_FIRST = select(placed_range.c.first).where(placed_range.c.range_id == ipv6_range.c.id).scalar_subquery()
ALL = select(*(ipv6_range.c[name] for name in Range.__struct_fields__ if name != "first"), _FIRST.label("first"))
_MINE = ALL.where(ipv6_range.c.account_id == bindparam("account_id"))
_OF = query(ALL.where(ipv6_range.c.instance_id == bindparam("instance_id")), Range)
_NUMBERED = query(ALL.where(ipv6_range.c.id == bindparam("id")), Range)
_MINE_NUMBERED = query(_MINE.where(ipv6_range.c.id == bindparam("id")), Range)
_PLACED = query(select(placed_range.c.range_id).where(placed_range.c.first == bindparam("first")))
# One statement, so that a range whose deletion commits meanwhile is either placed or at rest.
_UNAVAILABLE = query(
    select(placed_range.c.first).union_all(
        select(released_address.c.address).where(
            released_address.c.region == _RESTING,
            released_address.c.public.is_(True),
            released_address.c.free_at > bindparam("now"),
        )
    )
)
_IN_REGION = query(_MINE.where(ipv6_range.c.region == bindparam("region")), Range)


def of(ctx: Context, instance_id: int) -> Range | None:
    """Return the range routed to an instance, or None."""
    return ctx.db.maybe(_OF, instance_id=instance_id)


def in_region(ctx: Context, region: str) -> Range | None:
    return ctx.db.maybe(_IN_REGION, account_id=ctx.account_id, region=region)


def find(ctx: Context, wanted: str) -> Range | None:
    """Return a range of the account by the range's first address."""
    return ctx.db.maybe(_MINE_NUMBERED, account_id=ctx.account_id, id=_number(ctx, wanted))


def find_unscoped(ctx: Context, wanted: str) -> Range | None:
    """Return a range of any account, for steps of operations."""
    return ctx.db.maybe(_NUMBERED, id=_number(ctx, wanted))


def _number(ctx: Context, wanted: str) -> int:
    """The row that a range would be named after; 0, which is none, where it is no range."""
    try:
        address = ipaddress.IPv6Address(wanted)
    except ValueError:
        return 0
    place, within = divmod(int(address) - _DOCUMENTATION, 1 << 72)
    placed: int | None = ctx.db.value(_PLACED, first=str(address))
    if placed is not None:
        return placed
    return place - (1 << 8) if not within and 1 << 8 < place < 1 << 24 else 0


def one(ctx: Context, range: str) -> Range:
    held = find(ctx, range)
    if held is None:
        raise NotFound
    return held


def insert(ctx: Context, instance_id: int, region: str, prefix: int) -> Range:
    values: dict[str, Any] = {"account_id": ctx.account_id, "instance_id": instance_id}
    values |= {"region": region, "prefix": prefix}
    own = ctx.runtime.settings.ipv6_prefix(region)
    first = None if own is None else _free(ctx, ipaddress.IPv6Network(own))
    made = Range(ctx.db.insert(ipv6_range, **values, created=ctx.moment), **values, first=first)
    if first is not None:
        ctx.db.insert(placed_range, range_id=made.id, first=first)
    elif made.id >= _LAST:
        raise Invalid(_NO_RANGES)
    return made


def _free(ctx: Context, own: ipaddress.IPv6Network) -> str:
    """Return the first space of the region's prefix that is neither in use nor at rest.

    The very first space is for the machines themselves.
    """
    ctx.db.lock(Lock.ADDRESS_POOLS)
    unavailable = set(ctx.db.column(_UNAVAILABLE, now=ctx.now))
    for place in range(1, 1 << max(0, SPACE - own.prefixlen)):
        first = str(own[place << 128 - SPACE])
        if first not in unavailable:
            ctx.db.delete(released_address, address=first, region=_RESTING)
            return first
    raise Invalid(_NO_RANGES)


def assign(ctx: Context, row: Range, instance_id: int) -> None:
    """Route it to another instance of the account and region."""
    ctx.db.update(ipv6_range, {"id": row.id, "account_id": ctx.account_id}, instance_id=instance_id)
    ctx.db.delete(shared_address, instance_id=instance_id, address=row.text)


def delete(ctx: Context, row: Range) -> None:
    """Delete a range. A space of the region's prefix rests before its next use, as IPv4 addresses do."""
    ctx.db.delete(shared_address, address=row.text)
    ctx.db.delete(ipv6_range, id=row.id)
    if row.first is not None:
        give_back(ctx, row.first, _RESTING, public=True)
