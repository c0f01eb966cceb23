"""Traffic: what the plans of an account give together in a month, and what its instances used of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from crofter.context import Context
from crofter.db import Id, Row, Session, Time, among, identity, owned, query, table
from crofter.db.sql import Column, Index, Text, bindparam, delete, select
from crofter.resources.billing import meters, usage
from crofter.resources.billing.meters import Meter

GIGABYTE = 10**9

# Traffic of instances that left the account, by deletion or transfer: hosts no longer know it.
traffic = table(
    "traffic",
    identity(),
    owned(),
    Column("month", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("bytes", Id, nullable=False),
    Column("at", Time, nullable=False),  # when it left: what comes later is of another stay
    Index("ix_traffic_account_id", "account_id", "month", "object_id"),
)


class Pool(Struct, frozen=True):
    """In gigabytes."""

    quota: int
    used: int

    @property
    def billable(self) -> int:
        return max(0, self.used - self.quota)


class Leaving(Struct, frozen=True):
    """Traffic of a leaving instance in a month."""

    object_id: int
    month: str
    bytes: int


class DepartedTraffic(Row):
    """Traffic of an instance at the time it left the account."""

    object_id: int
    bytes: int
    at: int


_OF_MONTH = (
    select(traffic.c.object_id, traffic.c.bytes, traffic.c.at)
    .where(traffic.c.account_id == bindparam("account_id"), traffic.c.month == bindparam("month"))
    .order_by(traffic.c.id)
)
_DEPARTED = query(_OF_MONTH, DepartedTraffic)
_THESE_DEPARTED = query(_OF_MONTH.where(among(traffic.c.object_id, "ids")), DepartedTraffic)
_CAME_BACK = query(
    delete(traffic).where(
        traffic.c.account_id == bindparam("account_id"),
        traffic.c.object_id == bindparam("object_id"),
        traffic.c.at >= bindparam("since"),
    )
)
_BILLABLE_OF_MONTH = query(
    meters.ACCOUNTS_WITH_UNBILLED.union(
        select(traffic.c.account_id).where(
            traffic.c.month == bindparam("month"), traffic.c.account_id > bindparam("after")
        )
    )
    .order_by("account_id")
    .limit(bindparam("most"))
)


def pool(ctx: Context, account_id: int, until: int, *, exactly: bool = False) -> Pool:
    """Return the traffic pool of the month that ``until`` ends or lies in. Unused traffic of an instance serves the
    others.

    Unreachable hosts count as zero, or raise Unreachable with ``exactly``.
    """
    first = usage.month_start(until - 1)
    edge = usage.month_end(first)
    given = sum(_share(plan, first, edge) for plan in _plans(ctx, account_id, first)) // (edge - first)
    used = sum(gone.bytes for gone in departed(ctx.db, account_id, usage.month_of(first)))
    used += sum(_of_month(ctx, account_id, first, until, exactly=exactly).values())
    return Pool(given, used // GIGABYTE)


def leaving(ctx: Context, account_id: int, ids: Sequence[int], *, exactly: bool = True) -> list[Leaving]:
    """Return the traffic of instances that are leaving now, while hosts still know it.

    Includes the month before, whose invoice may still wait for an unreachable host.
    """
    this = usage.month_start(ctx.now)
    before = _of_month(ctx, account_id, usage.month_start(this - 1), this, exactly=exactly, ids=ids)
    now = _of_month(ctx, account_id, this, ctx.now, exactly=exactly, ids=ids)
    earlier = [Leaving(number, usage.month_of(this - 1), amount) for number, amount in before.items()]
    return [*earlier, *(Leaving(number, usage.month_of(this), now.get(number, 0)) for number in ids)]


def remember(ctx: Context, account_id: int, left: Iterable[Leaving], at: int) -> None:
    """Store the traffic of instances that left at this moment."""
    for instance in left:
        ctx.db.insert(traffic, account_id=account_id, at=at, **asdict(instance))


def _plans(ctx: Context, account_id: int, first: int, ids: Sequence[int] | None = None) -> list[Meter]:
    if ids is not None:
        return meters.of_objects(ctx.db, account_id, ("compute",), ids, first)
    return [meter for meter in meters.since(ctx.db, account_id, first) if meter.what == "compute"]


def _share(plan: Meter, first: int, edge: int) -> int:
    """Gigabytes times milliseconds: a part of the month gives a part of the traffic."""
    stop = edge if plan.ended is None else min(edge, plan.ended)
    return plan.transfer * max(0, stop - max(first, plan.began))


def _of_month(
    ctx: Context, account_id: int, first: int, until: int, *, exactly: bool, ids: Sequence[int] | None = None
) -> dict[int, int]:
    """Bytes of each instance, or of these, that the account has and nothing is remembered of.

    One that is being deleted is among them, up to when its owner gave it up.
    """
    left = departed(ctx.db, account_id, usage.month_of(first), ids)
    stays = _stays(_plans(ctx, account_id, first, ids), left)
    edge = min(until, usage.month_end(first))
    periods = {
        instance_id: (max(began, first), edge if ended is None else min(edge, ended))
        for instance_id, (began, ended) in stays.items()
    }
    return ctx.runtime.traffic(ctx, account_id, periods, exactly=exactly)


def _stays(plans: list[Meter], left: list[DepartedTraffic]) -> dict[int, tuple[int, int | None]]:
    """From when to when the account has each instance. One that left and came back is counted from when it came."""
    gone = {instance.object_id: instance.at for instance in left}
    stays: dict[int, tuple[int, int | None]] = {}
    for plan in plans:
        if plan.began >= gone.get(plan.object_id, 0):
            began, _ = stays.get(plan.object_id, (plan.began, None))
            stays[plan.object_id] = (began, plan.ended)
    return stays


# ---- instances that left --------------------------------------------------------------------------------------------


def departed(db: Session, account_id: int, month: str, ids: Sequence[int] | None = None) -> list[DepartedTraffic]:
    """Instances, or those of these, that left the account in a month, in the order in which they did."""
    if ids is None:
        return db.all(_DEPARTED, account_id=account_id, month=month)
    return db.all(_THESE_DEPARTED, account_id=account_id, month=month, ids=list(ids))


def came_back(db: Session, account_id: int, object_id: int, since: int) -> None:
    """An instance has not left after all."""
    db.run(_CAME_BACK, account_id=account_id, object_id=object_id, since=since)


def billable_accounts(db: Session, month: str, after: int, most: int) -> list[int]:
    """Accounts with something to bill for a month, in the order of ids; some have nothing left but traffic."""
    return db.column(_BILLABLE_OF_MONTH, month=month, after=after, most=most)
