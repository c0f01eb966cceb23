"""IPv6 ranges: which are routed to which instance."""

from __future__ import annotations

import ipaddress
from typing import Any

from crofter.context import Context
from crofter.db import Id, Moment, Row, identity, owned, query, table
from crofter.db.sql import Column, ForeignKey, Index, Integer, Text, UniqueConstraint, bindparam, select
from crofter.errors import Invalid, NotFound
from crofter.resources.instances.ips.store import shared_address

POOL = 116
"""The prefix of pools, which are not given out any more."""
_DOCUMENTATION = 0x2001_0DB8 << 96
_LAST = 0xFFFF << 8

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


class Range(Row):
    id: int
    account_id: int
    instance_id: int
    region: str
    prefix: int

    @property
    def compute_id(self) -> int:
        return self.instance_id

    @property
    def text(self) -> str:
        """The range as it is named: its first address."""
        return str(ipaddress.IPv6Address(_DOCUMENTATION + ((self.id + (1 << 8)) << 72)))

    @property
    def with_prefix(self) -> str:
        return f"{self.text}/{self.prefix}"


ALL = select(*(ipv6_range.c[name] for name in Range.__struct_fields__))
_MINE = ALL.where(ipv6_range.c.account_id == bindparam("account_id"))
_OF = query(ALL.where(ipv6_range.c.instance_id == bindparam("instance_id")), Range)
_NUMBERED = query(ALL.where(ipv6_range.c.id == bindparam("id")), Range)
_MINE_NUMBERED = query(_MINE.where(ipv6_range.c.id == bindparam("id")), Range)
_IN_REGION = query(_MINE.where(ipv6_range.c.region == bindparam("region")), Range)


def of(ctx: Context, instance_id: int) -> Range | None:
    """What is routed to an instance."""
    return ctx.db.maybe(_OF, instance_id=instance_id)


def in_region(ctx: Context, region: str) -> Range | None:
    return ctx.db.maybe(_IN_REGION, account_id=ctx.account_id, region=region)


def find(ctx: Context, wanted: str) -> Range | None:
    """A range of the account by its first address."""
    return ctx.db.maybe(_MINE_NUMBERED, account_id=ctx.account_id, id=_number(wanted))


def find_unscoped(ctx: Context, wanted: str) -> Range | None:
    """The same of whichever account; for steps of operations."""
    return ctx.db.maybe(_NUMBERED, id=_number(wanted))


def _number(wanted: str) -> int:
    """The row that a range would be named after; 0, which is none, where it is no range."""
    try:
        place, within = divmod(int(ipaddress.IPv6Address(wanted)) - _DOCUMENTATION, 1 << 72)
    except ValueError:
        return 0
    return place - (1 << 8) if not within and 1 << 8 < place < 1 << 24 else 0


def one(ctx: Context, range: str) -> Range:
    held = find(ctx, range)
    if held is None:
        raise NotFound
    return held


def insert(ctx: Context, instance_id: int, region: str, prefix: int) -> Range:
    values: dict[str, Any] = {"account_id": ctx.account_id, "instance_id": instance_id}
    values |= {"region": region, "prefix": prefix}
    made = Range(ctx.db.insert(ipv6_range, **values, created=ctx.moment), **values)
    if made.id >= _LAST:
        raise Invalid("No ranges are left in this region.")
    return made


def assign(ctx: Context, row: Range, instance_id: int) -> None:
    """Route it to another instance of the account and region."""
    ctx.db.update(ipv6_range, {"id": row.id, "account_id": ctx.account_id}, instance_id=instance_id)
    ctx.db.delete(shared_address, instance_id=instance_id, address=row.text)


def delete(ctx: Context, row: Range) -> None:
    ctx.db.delete(shared_address, address=row.text)
    ctx.db.delete(ipv6_range, id=row.id)
