"""Cost of objects in the current month, and forecast to its end without changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.money import dollars, whole_cents
from crofter.resources.billing import hour_lines, meters, sums, usage
from crofter.resources.billing.hour_lines import MonthSteps
from crofter.resources.billing.meters import Meter
from crofter.resources.billing.shapes import AccountCost, CostItem, ServiceCost, TagCost
from crofter.resources.billing.sums import MonthSums
from crofter.resources.billing.usage_sql import OF_INSTANCES


class Spending(Struct, frozen=True):
    """Cost of a meter in this month, in micro-dollars."""

    meter: Meter
    so_far: int
    by_the_end: int


class MonthCost(Struct, frozen=True):
    """Cost of an object in this month, in dollars, with a forecast."""

    start: str
    forecast: float
    month_to_date: float
    hourly: float
    monthly: float
    items: list[CostItem]


def of_instances(ctx: Context, instance_ids: Sequence[int]) -> dict[int, MonthCost]:
    """Return the cost of the instances by id."""
    first = usage.month_start(ctx.now)
    spendings_of: dict[int, list[Spending]] = {instance_id: [] for instance_id in instance_ids}
    for spending in _this_month(ctx, meters.of_objects(ctx.db, ctx.account_id, OF_INSTANCES, instance_ids, first)):
        spendings_of[spending.meter.object_id].append(spending)
    return {instance_id: _month_cost(first, spendings) for instance_id, spendings in spendings_of.items()}


def _month_cost(first: int, spendings: list[Spending]) -> MonthCost:
    hourly, monthly = _rates(spendings)
    return MonthCost(
        start=clock.text(first),
        forecast=_total(spendings, _by_the_end),
        month_to_date=_total(spendings, _so_far),
        hourly=dollars(hourly),
        monthly=dollars(monthly),
        items=[_item(spending) for spending in spendings],
    )


def of_account(ctx: Context) -> AccountCost:
    month = _at(ctx, hour_lines.month(ctx)) or _added_up(ctx)
    return AccountCost(
        forecast=dollars(sum(total.by_the_end for total in month.services.values())),
        from_=clock.text(usage.month_start(ctx.now)),
        hourly=dollars(month.hourly),
        month_to_date=dollars(sum(total.so_far for total in month.services.values())),
        monthly=dollars(month.monthly),
        services=[
            ServiceCost(dollars(total.by_the_end), dollars(total.so_far), what)
            for what, total in sorted(month.services.items())
        ],
        tags=[
            TagCost(dollars(total.by_the_end), dollars(total.so_far), label)
            for label, total in sorted(month.tags.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
        ],
        to=ctx.moment,
    )


def _at(ctx: Context, steps: MonthSteps | None) -> _Month | None:
    """Return the values at this moment from the sums of the hour."""
    if steps is None:
        return None
    services = {what: _Total(group.so_far.at(ctx.now), group.by_the_end) for what, group in steps.services.items()}
    tags = {label: _Total(group.so_far.at(ctx.now), group.by_the_end) for label, group in steps.tags.items()}
    return _Month(services, tags, steps.hourly, steps.monthly)


def _added_up(ctx: Context) -> _Month:
    """Added up by the database, but for objects whose plan changed this month: their meters share a cap."""
    first = usage.month_start(ctx.now)
    chained = _this_month(ctx, meters.chained(ctx.db, ctx.account_id, first))
    alone = sums.of_month(ctx.db, ctx.account_id, ctx.now, [spending.meter for spending in chained])
    hourly, monthly = _rates(chained)
    return _Month(
        _services(alone, chained),
        _tags(ctx, alone, chained),
        hourly + sum(group.hourly for group in alone.services),
        monthly + sum(group.monthly for group in alone.services),
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


def _rates(spendings: Iterable[Spending]) -> tuple[int, int]:
    running = [spending.meter for spending in spendings if spending.meter.ended is None]
    return sum(meter.hourly for meter in running), sum(meter.monthly for meter in running)


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


class _Total:
    """Total of a group in micro-dollars; each line is rounded to cents before it is added."""

    def __init__(self, so_far: int = 0, by_the_end: int = 0) -> None:
        self.so_far = so_far
        self.by_the_end = by_the_end

    def add(self, so_far: int, by_the_end: int) -> None:
        self.so_far += so_far
        self.by_the_end += by_the_end


class _Month(Struct, frozen=True):
    """Cost of a month by service and by tag, and the price of running meters."""

    services: dict[str, _Total]
    tags: dict[str | None, _Total]
    hourly: int
    monthly: int


def _services(alone: MonthSums, chained: list[Spending]) -> dict[str, _Total]:
    grouped: defaultdict[str, _Total] = defaultdict(_Total)
    for group in alone.services:
        grouped[group.what].add(group.so_far, group.by_the_end)
    for spending in chained:
        grouped[spending.meter.what].add(_so_far(spending), _by_the_end(spending))
    return grouped


def _tags(ctx: Context, alone: MonthSums, chained: list[Spending]) -> dict[str | None, _Total]:
    grouped: defaultdict[str | None, _Total] = defaultdict(_Total)
    for tag in alone.tags:
        grouped[tag.label].add(tag.so_far, tag.by_the_end)
    for group in alone.services:
        if group.untagged:
            grouped[None].add(group.so_far, group.by_the_end)
    labels = sums.labels(ctx.db, ctx.account_id, [spending.meter for spending in chained])
    for spending in chained:
        carried: Sequence[str | None] = labels.get(spending.meter.id) or [None]
        for label in carried:
            grouped[label].add(_so_far(spending), _by_the_end(spending))
    return grouped
