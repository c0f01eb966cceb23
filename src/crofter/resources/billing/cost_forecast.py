"""What things have cost this month so far, and will have cost at its end if nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.money import dollars, whole_cents
from crofter.resources.billing import meters, usage
from crofter.resources.billing.meters import Meter
from crofter.resources.billing.shapes import AccountCost, CostItem, ServiceCost, TagCost
from crofter.resources.tags import store as tags

COMPUTE = "compute"
OF_INSTANCES = (COMPUTE, "backup", "ip", "managed")


class Spending(Struct, frozen=True):
    """What one meter comes to this month, in micro-dollars."""

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
    first = usage.month_start(ctx.now)
    spendings = _this_month(ctx, meters.of_objects(ctx.db, ctx.account_id, OF_INSTANCES, [instance_id], first))
    hourly, monthly = _rates(spendings)
    return MonthCost(
        start=clock.text(first),
        forecast=_total(spendings, _by_the_end),
        month_to_date=_total(spendings, _so_far),
        hourly=hourly,
        monthly=monthly,
        items=[_item(spending) for spending in spendings],
    )


def of_account(ctx: Context) -> AccountCost:
    spendings = _this_month(ctx, meters.since(ctx.db, ctx.account_id, usage.month_start(ctx.now)))
    hourly, monthly = _rates(spendings)
    return AccountCost(
        forecast=_total(spendings, _by_the_end),
        from_=clock.text(usage.month_start(ctx.now)),
        hourly=hourly,
        month_to_date=_total(spendings, _so_far),
        monthly=monthly,
        services=_services(spendings),
        tags=_tags(ctx, spendings),
        to=ctx.moment,
    )


def _this_month(ctx: Context, every: list[Meter]) -> list[Spending]:
    first = usage.month_start(ctx.now)
    so_far = {charge.meter.id: charge.amount for charge in usage.charges(every, ctx.now, first)}
    by_the_end = {charge.meter.id: charge.amount for charge in usage.charges(every, usage.month_end(first), first)}
    return [Spending(meter, so_far.get(meter.id, 0), by_the_end.get(meter.id, 0)) for meter in every]


def _so_far(spending: Spending) -> int:
    return whole_cents(spending.so_far)


def _by_the_end(spending: Spending) -> int:
    return whole_cents(spending.by_the_end)


def _total(spendings: Iterable[Spending], part: Callable[[Spending], int]) -> float:
    return dollars(sum(part(spending) for spending in spendings))


def _rates(spendings: Iterable[Spending]) -> tuple[float, float]:
    running = [spending.meter for spending in spendings if spending.meter.ended is None]
    return dollars(sum(meter.hourly for meter in running)), dollars(sum(meter.monthly for meter in running))


def _item(spending: Spending) -> CostItem:
    meter = spending.meter
    return CostItem(
        forecast=dollars(_by_the_end(spending)),
        hourly=dollars(meter.hourly),
        label=meter.label,
        month_to_date=dollars(_so_far(spending)),
        monthly=dollars(meter.monthly),
        service=meter.what,
    )


def _services(spendings: list[Spending]) -> list[ServiceCost]:
    grouped: dict[str, list[Spending]] = {}
    for spending in spendings:
        grouped.setdefault(spending.meter.what, []).append(spending)
    return [
        ServiceCost(_total(group, _by_the_end), _total(group, _so_far), what) for what, group in sorted(grouped.items())
    ]


def _tags(ctx: Context, spendings: list[Spending]) -> list[TagCost]:
    grouped: dict[str | None, list[Spending]] = {}
    for kind, group in _by_kind(spendings).items():
        labels = tags.labels(ctx, kind, sorted({spending.meter.object_id for spending in group}))
        for spending in group:
            carried: Sequence[str | None] = labels.get(spending.meter.object_id) or [None]
            for label in carried:
                grouped.setdefault(label, []).append(spending)
    return [
        TagCost(_total(group, _by_the_end), _total(group, _so_far), label)
        for label, group in sorted(grouped.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
    ]


def _by_kind(spendings: list[Spending]) -> dict[str, list[Spending]]:
    """By what tags call the object: backups and addresses are of an instance."""
    grouped: dict[str, list[Spending]] = {}
    for spending in spendings:
        grouped.setdefault(COMPUTE if spending.meter.what in OF_INSTANCES else spending.meter.what, []).append(spending)
    return grouped
