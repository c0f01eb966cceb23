"""Addresses and ranges that an instance may use although another one has them."""

from __future__ import annotations

from collections.abc import Iterable

from crofter.context import Context
from crofter.db import among, query
from crofter.db.sql import bindparam, select
from crofter.resources.instances.ips import ranges
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.ranges import Range, ipv6_range
from crofter.resources.instances.ips.store import Address, address, shared_address

_OF = query(
    select(*(address.c[name] for name in Address.__struct_fields__))
    .join(shared_address, shared_address.c.address == address.c.address)
    .where(shared_address.c.instance_id == bindparam("instance_id"))
    .order_by(shared_address.c.created, address.c.address),
    Address,
)
_TEXTS = query(
    select(shared_address.c.address)
    .where(shared_address.c.instance_id == bindparam("instance_id"))
    .order_by(shared_address.c.created, shared_address.c.address)
)
_USERS = query(
    select(shared_address.c.instance_id)
    .where(shared_address.c.address == bindparam("address"))
    .order_by(shared_address.c.instance_id)
)
_BORROWING = query(select(shared_address.c.instance_id).where(among(shared_address.c.instance_id, "ids")).distinct())
_LENDING = query(
    select(address.c.instance_id)
    .join(shared_address, shared_address.c.address == address.c.address)
    .where(among(address.c.instance_id, "ids"))
    .distinct()
)
_ROUTED = query(ranges.ALL.where(among(ipv6_range.c.instance_id, "ids")), Range)


def of(ctx: Context, instance_id: int) -> list[Address]:
    """The addresses of others that an instance may use."""
    return ctx.db.all(_OF, instance_id=instance_id)


def texts(ctx: Context, instance_id: int) -> list[str]:
    """The same, and ranges of others, as they are named."""
    return ctx.db.column(_TEXTS, instance_id=instance_id)


def users(ctx: Context, wanted: str) -> list[int]:
    """The instances that may use an address or range of another one."""
    return ctx.db.column(_USERS, address=wanted)


def routed(ctx: Context, ids: Iterable[int]) -> list[Range]:
    """The ranges of these instances."""
    return ctx.db.all(_ROUTED, ids=list(ids))


def sharing(ctx: Context, ids: Iterable[int]) -> set[int]:
    """Return the instances among ``ids`` that share an address or range, as lender or borrower."""
    wanted = list(ids)
    lent = {row.instance_id for row in routed(ctx, wanted) if users(ctx, row.text)}
    return {*ctx.db.column(_BORROWING, ids=wanted), *ctx.db.column(_LENDING, ids=wanted), *lent}


def share(ctx: Context, instance_id: int, wanted: str) -> None:
    ctx.db.insert(shared_address, instance_id=instance_id, address=wanted, created=ctx.moment)


def unshare(ctx: Context, instance_id: int, wanted: str) -> None:
    ctx.db.delete(shared_address, instance_id=instance_id, address=wanted)


def usable(ctx: Context, instance_id: int) -> list[str]:
    """Return the addresses that an instance may use besides its own: shared ones, and its range."""
    shared = (ranges.find_unscoped(ctx, text) or text for text in texts(ctx, instance_id))
    own = ranges.of(ctx, instance_id)
    addresses = [*shared, *([own] if own else [])]
    return [address.with_prefix if isinstance(address, Range) else address for address in addresses]


def release_all(ctx: Context, instance_id: int) -> set[int]:
    """An instance goes: its addresses, its range and all that is shared with it. Who shared any of it is answered."""
    own = ranges.of(ctx, instance_id)
    held = ips.of(ctx, instance_id)
    others = {user for row in held if row.public for user in users(ctx, row.address)}
    if own is not None:
        others |= set(users(ctx, own.text))
        ranges.delete(ctx, own)
    for row in held:
        ips.release(ctx, row)
    ctx.db.delete(shared_address, instance_id=instance_id)
    return others
