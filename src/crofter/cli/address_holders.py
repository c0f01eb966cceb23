"""The command ``crofter admin addresses whose``: the account and the machine that an address belongs to."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from crofter.cli.operators import Arguments, Rows, plain
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.db.sql import Text, bindparam, cast, func, null, or_, select
from crofter.errors import NotFound
from crofter.resources.account.store import account
from crofter.resources.instances.ips import ranges
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.store import instance
from crofter.resources.nodebalancers.store import nodebalancer
from crofter.resources.users.store import user

Ipv6 = ipaddress.IPv6Address
_SPACE_BITS = 128 - ranges.SPACE


class Holder(Row):
    """An instance or a load balancer, with its account."""

    euuid: str
    username: str | None
    """First unrestricted user of the account."""
    suspended: bool
    id: int
    label: str
    region: str
    status: str | None
    """Status of an instance; None for a load balancer."""


_FIRST = (
    select(func.min(user.c.id))
    .where(user.c.account_id == account.c.id, user.c.restricted.is_(False))
    .correlate(account)
    .scalar_subquery()
)
_ACCOUNT = (account.c.euuid, user.c.username, account.c.suspended)
_INSTANCES = (
    select(*_ACCOUNT, instance.c.id, instance.c.label, instance.c.region, instance.c.status)
    .join_from(instance, account, account.c.id == instance.c.account_id)
    .join(user, user.c.id == _FIRST, isouter=True)
)
_BY_ID = query(_INSTANCES.where(instance.c.id == bindparam("id")), Holder)
_BY_ADDRESS = query(
    _INSTANCES.join(ips.address, ips.address.c.instance_id == instance.c.id)
    .where(ips.address.c.address == bindparam("address"))
    .order_by(ips.address.c.region),
    Holder,
)
_BY_SHARE = query(
    _INSTANCES.join(ips.shared_address, ips.shared_address.c.instance_id == instance.c.id)
    .where(ips.shared_address.c.address == bindparam("address"))
    .order_by(instance.c.id),
    Holder,
)
_BALANCERS = query(
    select(
        *_ACCOUNT, nodebalancer.c.id, nodebalancer.c.label, nodebalancer.c.region, cast(null(), Text).label("status")
    )
    .join_from(nodebalancer, account, account.c.id == nodebalancer.c.account_id)
    .join(user, user.c.id == _FIRST, isouter=True)
    .where(or_(nodebalancer.c.ipv4 == bindparam("address"), nodebalancer.c.ipv6 == bindparam("address"))),
    Holder,
)


def show_holders(runtime: Runtime, arguments: Arguments) -> Rows:
    """Return a row for each machine that has or shares the address now."""
    try:
        wanted = ipaddress.ip_address(arguments["name"])
    except ValueError:
        raise ValueError(f"{arguments['name']!r} is no IP address") from None
    with runtime.database.read() as db:
        rows = [_row(how, holder) for how, holder in _holders(Context(runtime, db), wanted)]
    if not rows:
        raise NotFound(f"no instance and no load balancer has the address {wanted} now")
    return rows


def _holders(ctx: Context, wanted: ipaddress.IPv4Address | Ipv6) -> Iterator[tuple[str, Holder]]:
    shared = str(wanted)
    yield from (("address", holder) for holder in ctx.db.all(_BY_ADDRESS, address=str(wanted)))
    yield from (("load balancer", holder) for holder in ctx.db.all(_BALANCERS, address=str(wanted)))
    if isinstance(wanted, Ipv6):
        own = ctx.db.maybe(_BY_ID, id=ips.instance_of(wanted) or 0)
        if own is not None and Ipv6(ips.slaac(ctx, own.region, own.id)) == wanted:
            yield "address", own
        routed = _range_around(ctx, wanted)
        if routed is not None:
            yield f"range {routed.with_prefix}", ctx.db.one(_BY_ID, id=routed.instance_id)
            shared = routed.text
    yield from (("shared", holder) for holder in ctx.db.all(_BY_SHARE, address=shared))


def _range_around(ctx: Context, wanted: Ipv6) -> ranges.Range | None:
    """Return the routed range that holds the address, or None."""
    space = Ipv6(int(wanted) >> _SPACE_BITS << _SPACE_BITS)
    routed = ranges.find_unscoped(ctx, str(space))
    return routed if routed is not None and wanted in ipaddress.IPv6Network(routed.with_prefix) else None


def _row(how: str, holder: Holder) -> dict[str, Any]:
    return {"by": how, **msgspec.structs.asdict(holder), "label": plain(holder.label)}


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"addresses whose": show_holders}
