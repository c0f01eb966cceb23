"""Traffic: what the plans of an account give together in a month, and what its instances used of it."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import select

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable
from crofter.resources.billing import metering, meters
from crofter.resources.billing.meters import Left, Meter
from crofter.resources.instances import hands
from crofter.resources.instances.store import instance

GIGABYTE = 10**9


class Pool(Struct, frozen=True):
    """In gigabytes."""

    quota: int
    used: int

    @property
    def billable(self) -> int:
        return max(0, self.used - self.quota)


class _Machine(Row):
    id: int
    host: int | None


_MACHINES = query(select(instance.c.id, instance.c.host).where(among(instance.c.id, "ids")), _Machine)


def pool(ctx: Context, account_id: int, until: int, *, exactly: bool = False) -> Pool:
    """Of the month that ``until`` ends or lies in. What one instance leaves over, another may use.

    Hosts that do not answer count for nothing, or raise Unreachable if it must be known ``exactly``.
    """
    first = metering.month_start(until - 1)
    edge = metering.month_end(first)
    plans = [found for found in meters.since(ctx.db, account_id, first) if found.what == "compute"]
    given = sum(_share(found, first, edge) for found in plans) // (edge - first)
    left = meters.left(ctx.db, account_id, metering.month_of(first))
    used = sum(one.bytes for one in left)
    since = _since(plans, left)
    alive = [found.object_id for found in plans if found.ended is None]
    for machine in ctx.db.all(_MACHINES, ids=alive):
        used += _between(ctx, machine, max(since.get(machine.id, until), first), min(until, edge), exactly=exactly)
    return Pool(given, used // GIGABYTE)


def _share(found: Meter, first: int, edge: int) -> int:
    """Gigabytes times milliseconds: a part of the month gives a part of the traffic."""
    stop = edge if found.ended is None else min(edge, found.ended)
    return found.transfer * max(0, stop - max(first, found.began))


def _since(plans: list[Meter], left: list[Left]) -> dict[int, int]:
    """Since when the account has each instance. One that left and came back is counted from when it came."""
    gone = {one.object_id: one.at for one in left}
    since: dict[int, int] = {}
    for found in plans:
        if found.began >= gone.get(found.object_id, 0):
            since.setdefault(found.object_id, found.began)
    return since


def _between(ctx: Context, machine: _Machine, start: int, stop: int, *, exactly: bool) -> int:
    """Bytes that went in and out over the public network."""
    if machine.host is None or start >= stop:
        return 0
    try:
        ref = DomainRef(machine.host, machine.id)
        points = hands.hypervisor(ctx.world).history(ref, start, stop, stop - start)
    except Absent:
        return 0
    except Unreachable:
        if exactly:
            raise
        return 0
    return sum(one.ipv4_in + one.ipv6_in + one.ipv4_out + one.ipv6_out for one in points)


def of_this_month(ctx: Context, account_id: int, instance_id: int) -> int:
    """Bytes of one instance since the month began, or since the account has it. Raises Unreachable."""
    first = metering.month_start(ctx.now)
    plans = [one for one in meters.since(ctx.db, account_id, first) if one.what == "compute"]
    left = meters.left(ctx.db, account_id, metering.month_of(first))
    since = _since(plans, left).get(instance_id, ctx.now)
    return sum(
        _between(ctx, machine, max(since, first), ctx.now, exactly=True)
        for machine in ctx.db.all(_MACHINES, ids=[instance_id])
    )


def remember(ctx: Context, account_id: int, instance_id: int, amount: int) -> None:
    """An instance leaves the account: what it used of this month can be asked of nobody any more."""
    month = metering.month_of(ctx.now)
    ctx.db.insert(meters.traffic, account_id=account_id, month=month, object_id=instance_id, bytes=amount, at=ctx.now)
