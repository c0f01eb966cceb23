"""Addresses: who has which, and where the next free one is."""

from __future__ import annotations

import ipaddress
from functools import cache

from crofter import clock, region_settings
from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, json_list, owned, query, table
from crofter.db.sql import (
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Text,
    bindparam,
    func,
    literal_column,
    select,
    text,
)
from crofter.db.tally import Tally
from crofter.resources.instances.ips import blocks

COOLING = clock.DAY
"""Minimum time between the release of an address and its next use."""

address = table(
    "address",
    Column("address", Text, nullable=False),
    owned(),
    Column("instance_id", Id, nullable=False),
    Column("region", Text, nullable=False),
    Column("public", Flag, nullable=False),
    Column("position", Integer, nullable=False),  # the order in which an instance got them, public ones first
    Column("rdns", Text),
    Column("created", Moment, nullable=False),
    # Private addresses are the same range in every region.
    PrimaryKeyConstraint("address", "region"),
    Index("ix_address_account_id", "account_id", "address"),
    # Covers all listed columns, in the order of lists.
    Index("ix_address_instance_id", "instance_id", text("public DESC"), "position", "address"),
    sqlite_without_rowid=True,
)
PUBLIC_ADDRESSES = Tally(address, number="instance_id", only="public")
"""How many public addresses an account has, by its instances."""
# Public addresses and ranges of other instances that an instance may use, too. Both are the same nowhere else.
shared_address = table(
    "shared_address",
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False),
    Column("address", Text, nullable=False),
    Column("created", Moment, nullable=False),
    PrimaryKeyConstraint("instance_id", "address"),
    Index("ix_shared_address_address", "address", "instance_id"),
    sqlite_without_rowid=True,
)


class Address(Row):
    address: str
    account_id: int
    instance_id: int
    region: str
    public: bool
    position: int
    rdns: str | None


_ALL = select(*(address.c[name] for name in Address.__struct_fields__))
_ORDER = (address.c.public.desc(), address.c.position)
_OF = query(_ALL.where(address.c.instance_id == bindparam("instance_id")).order_by(*_ORDER), Address)
_ONE = query(
    _ALL.where(
        address.c.account_id == bindparam("account_id"),
        address.c.instance_id == bindparam("instance_id"),
        address.c.address == bindparam("address"),
    ),
    Address,
)
_HELD = query(
    _ALL.where(
        address.c.account_id == bindparam("account_id"),
        address.c.address == bindparam("address"),
    ).order_by(address.c.region),
    Address,
)
_TEXTS = query(select(address.c.address).where(address.c.instance_id == bindparam("instance_id")).order_by(*_ORDER))
TEXTS = json_list(
    select(address.c.address).where(address.c.instance_id == literal_column("instance.id")).order_by(*_ORDER)
)
"""The addresses of an instance among what is selected of it, in the order in which they are shown."""
_LAST = query(select(func.max(address.c.position)).where(address.c.instance_id == bindparam("instance_id")))


def of(ctx: Context, instance_id: int) -> list[Address]:
    """Return the addresses of an instance, public ones first."""
    return ctx.db.all(_OF, instance_id=instance_id)


def one(ctx: Context, instance_id: int, wanted: str) -> Address:
    return ctx.db.one(_ONE, account_id=ctx.account_id, instance_id=instance_id, address=wanted)


def held(ctx: Context, wanted: str, region: str | None = None) -> Address | None:
    """An address of the account. A private one may be there in several regions: that of the region, or the first."""
    rows = ctx.db.all(_HELD, account_id=ctx.account_id, address=wanted)
    return next((row for row in rows if region in (None, row.region)), None)


def texts(ctx: Context, instance_id: int) -> list[str]:
    """The addresses of an instance, in the order in which they are shown."""
    return ctx.db.column(_TEXTS, instance_id=instance_id)


def allocate(ctx: Context, instance_id: int, region: str, *, public: bool, position: int | None = None) -> Address:
    """Assign a free address of the region to the instance.

    ``position``: index among its addresses if known; otherwise last.
    """
    free = blocks.draw(ctx, region, public=public)
    if position is None:
        position = int(ctx.db.value(_LAST, instance_id=instance_id) or 0) + 1
    ctx.db.insert_later(
        address,
        address=free,
        account_id=ctx.account_id,
        instance_id=instance_id,
        region=region,
        public=public,
        position=position,
        rdns=None,
        created=ctx.moment,
    )
    return Address(free, ctx.account_id, instance_id, region, public, position, None)


def take(ctx: Context, region: str, *, public: bool) -> str:
    """Reserve a free address of the region for another object."""
    return blocks.draw(ctx, region, public=public)


def slaac(ctx: Context, region: str, instance_id: int) -> str:
    """The IPv6 address that an instance derives for itself: the region's prefix, and a card numbered by its id.

    It follows from these two, so it is kept nowhere.
    """
    wire = region_settings.wire(ctx.runtime.settings.ipv6_prefix(region), region)
    return on_wire(wire, instance_id)


def on_wire(wire: int, instance_id: int) -> str:
    """The address that the card of an instance has on a network, by the upper 64 bits of that network."""
    return f"{_neighbourhood(wire, instance_id >> 16)}:{instance_id & 0xFFFF:x}"


@cache
def _neighbourhood(wire: int, number: int) -> str:
    """Return the common prefix of 65,536 interface ids of a network, without the last group, which is never zero."""
    return str(ipaddress.IPv6Address(wire << 64 | _card(number << 16 | 1))).rpartition(":")[0]


def _card(instance_id: int) -> int:
    """The lower 64 bits of the addresses that an instance derives for itself."""
    number = instance_id >> 16
    maker = 0xF03C_95FF + (number >> 8 << 8)
    return maker << 32 | (0xFE00 | number & 0xFF) << 16 | instance_id & 0xFFFF


def link_local(instance_id: int) -> str:
    """The address that an instance has on its own wire: the same card, in every region."""
    return str(ipaddress.IPv6Address((0xFE80 << 112) | _card(instance_id)))


def instance_of(wanted: ipaddress.IPv6Address) -> int | None:
    """The id of the instance whose card would have this address, as far as an id can be read from it."""
    card = int(wanted) & ((1 << 64) - 1)
    maker = (card >> 32) - 0xF03C_95FF
    if maker < 0 or maker & 0xFF or (card >> 24) & 0xFF != 0xFE:
        return None
    return (maker >> 8 << 8 | card >> 16 & 0xFF) << 16 | card & 0xFFFF


def assign(ctx: Context, row: Address, instance_id: int) -> None:
    """Another instance of the account and region has the address now, as its last one."""
    position = int(ctx.db.value(_LAST, instance_id=instance_id) or 0) + 1
    named = {"address": row.address, "region": row.region, "account_id": ctx.account_id}
    ctx.db.update(address, named, instance_id=instance_id, position=position)
    # An instance does not borrow its own address.
    ctx.db.delete(shared_address, instance_id=instance_id, address=row.address)


def release(ctx: Context, row: Address) -> None:
    """Take an address away from its instance. It rests before it is given out again."""
    ctx.db.delete(address, address=row.address, region=row.region)
    if row.public:
        ctx.db.delete(shared_address, address=row.address)
    give_back(ctx, row.address, row.region, public=row.public)


def give_back(ctx: Context, taken: str, region: str, *, public: bool) -> None:
    """Release a reserved address, which rests before its next use."""
    ctx.db.insert(blocks.released_address, address=taken, region=region, public=public, free_at=ctx.now + COOLING)
