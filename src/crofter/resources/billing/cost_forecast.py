"""What things have cost this month so far, and will have cost at its end if nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.money import dollars
from crofter.resources.billing import metering, meters
from crofter.resources.billing.meters import Meter
from crofter.resources.billing.shapes import AccountCost, CostItem, ServiceCost, TagCost
from crofter.resources.billing.taxes import whole_cents
from crofter.resources.tags import store as tags

COMPUTE = "compute"
OF_INSTANCES = (COMPUTE, "backup", "ip", "managed")


class Spent(Struct, frozen=True):
    """What one meter comes to in a month, in micro-dollars."""

    meter: Meter
    so_far: int
    by_the_end: int


class MonthCost(Struct, frozen=True):
    """What one object costs this month: in dollars, with a forecast."""

    start: str
    forecast: float
    month_to_date: float
    hourly: float
    monthly: float
    items: list[CostItem]


def of_instance(ctx: Context, instance_id: int) -> MonthCost:
    first = metering.month_start(ctx.now)
    spent = _this_month(ctx, meters.of_objects(ctx.db, ctx.account_id, OF_INSTANCES, [instance_id], first))
    hourly, monthly = _rates(spent)
    return MonthCost(
        start=clock.text(first),
        forecast=_total(spent, _by_the_end),
        month_to_date=_total(spent, _so_far),
        hourly=hourly,
        monthly=monthly,
        items=[_item(meter) for meter in spent],
    )


def of_account(ctx: Context) -> AccountCost:
    found = _this_month(ctx, meters.since(ctx.db, ctx.account_id, metering.month_start(ctx.now)))
    hourly, monthly = _rates(found)
    return AccountCost(
        forecast=_total(found, _by_the_end),
        from_=clock.text(metering.month_start(ctx.now)),
        hourly=hourly,
        month_to_date=_total(found, _so_far),
        monthly=monthly,
        services=_services(found),
        tags=_tags(ctx, found),
        to=ctx.moment,
    )


def _this_month(ctx: Context, every: list[Meter]) -> list[Spent]:
    first = metering.month_start(ctx.now)
    so_far = {line.meter.id: line.amount for line in metering.lines(every, ctx.now, first)}
    by_the_end = {line.meter.id: line.amount for line in metering.lines(every, metering.month_end(first), first)}
    return [Spent(one, so_far.get(one.id, 0), by_the_end.get(one.id, 0)) for one in every]


def _so_far(one: Spent) -> int:
    return whole_cents(one.so_far)


def _by_the_end(one: Spent) -> int:
    return whole_cents(one.by_the_end)


def _total(found: Iterable[Spent], part: Callable[[Spent], int]) -> float:
    return dollars(sum(part(one) for one in found))


def _rates(found: Iterable[Spent]) -> tuple[float, float]:
    running = [one.meter for one in found if one.meter.ended is None]
    return dollars(sum(one.hourly for one in running)), dollars(sum(one.monthly for one in running))


def _item(one: Spent) -> CostItem:
    meter = one.meter
    return CostItem(
        forecast=dollars(_by_the_end(one)),
        hourly=dollars(meter.hourly),
        label=meter.label,
        month_to_date=dollars(_so_far(one)),
        monthly=dollars(meter.monthly),
        service=meter.what,
    )


def _services(found: list[Spent]) -> list[ServiceCost]:
    grouped: dict[str, list[Spent]] = {}
    for one in found:
        grouped.setdefault(one.meter.what, []).append(one)
    return [
        ServiceCost(_total(group, _by_the_end), _total(group, _so_far), what) for what, group in sorted(grouped.items())
    ]


def _tags(ctx: Context, found: list[Spent]) -> list[TagCost]:
    grouped: dict[str | None, list[Spent]] = {}
    for kind, group in _by_kind(found).items():
        labels = tags.labels(ctx, kind, sorted({one.meter.object_id for one in group}))
        for one in group:
            carried: Sequence[str | None] = labels.get(one.meter.object_id) or [None]
            for label in carried:
                grouped.setdefault(label, []).append(one)
    return [
        TagCost(_total(group, _by_the_end), _total(group, _so_far), label)
        for label, group in sorted(grouped.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
    ]


def _by_kind(found: list[Spent]) -> dict[str, list[Spent]]:
    """By what tags call the object: backups and addresses are of an instance."""
    grouped: dict[str, list[Spent]] = {}
    for one in found:
        grouped.setdefault(COMPUTE if one.meter.what in OF_INSTANCES else one.meter.what, []).append(one)
    return grouped
