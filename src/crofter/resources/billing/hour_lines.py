"""The sums of an account for one hour: what no invoice has, and what the month costs by service and by tag.

As in ``sums``, meters that are alone are added up by the database, here with all that grow at the same moment; those of
a chain are reckoned by ``usage``. Each meter of a chain begins on an hour of the one before, so they grow together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Row, query
from crofter.db.sql import ColumnElement, greatest, literal_column, select
from crofter.money import whole_cents
from crofter.resources.billing import meters, sums, usage
from crofter.resources.billing.hour_sums import Growing, HourSums, Steps
from crofter.resources.billing.meters import Meter, meter
from crofter.resources.billing.usage_sql import (
    ALONE,
    CARRIES,
    MINE,
    UNBILLED_SINCE,
    UNTAGGED,
    added,
    cents,
    month_so_far,
    until,
)
from crofter.resources.tags.store import tag, tagged

_PHASE = (meter.c.began % clock.HOUR).label("phase")


# amounts without an invoice


class _Unbilled(Row):
    """Sum of meters that grow at the same moment, at the beginning and the end of an hour."""

    phase: int
    before: int
    after: int


def _unbilled(name: str) -> ColumnElement[int]:
    return cents(month_so_far(greatest(until(name), UNBILLED_SINCE)) - month_so_far(UNBILLED_SINCE))


_UNINVOICED = query(
    select(_PHASE, added(_unbilled("hour")).label("before"), added(_unbilled("next")).label("after"))
    .where(ALONE, until("next") > UNBILLED_SINCE)
    .group_by(literal_column("phase")),
    _Unbilled,
)


def _uninvoiced(ctx: Context, hour: int) -> Steps:
    lines = Growing()
    oldest = meters.oldest_unbilled(ctx.db, ctx.account_id)
    if oldest is not None:
        first, this_month = usage.month_start(oldest), usage.month_start(hour)
        chained = meters.chained(ctx.db, ctx.account_id, first)
        chains = sums.chains_of(chained)
        lines.start = sums.uninvoiced_alone(ctx.db, ctx.account_id, first, this_month, chains)
        moments = {"first": this_month, "hour": hour, "next": hour + clock.HOUR}
        for row in ctx.db.all(_UNINVOICED, account_id=ctx.account_id, chains=chains, **moments):
            lines.add(row.phase, row.before, row.after)
        for charge in usage.charges(chained, hour):
            lines.add(charge.meter.began % clock.HOUR, whole_cents(charge.amount), 0)
        for charge in usage.charges(chained, hour + clock.HOUR):
            lines.add(charge.meter.began % clock.HOUR, 0, whole_cents(charge.amount))
    return Steps(hour, lines)


_UNINVOICED_SUMS = HourSums(_uninvoiced, len)


def uninvoiced(ctx: Context) -> int:
    """Micro-dollars that an invoice of this moment would come to, before tax and credits."""
    kept = _UNINVOICED_SUMS.find(ctx)
    return sums.uninvoiced(ctx.db, ctx.account_id, ctx.now) if kept is None else kept.at(ctx.now)


# cost of a month


class GroupSteps(Struct, frozen=True):
    so_far: Steps
    by_the_end: int


class MonthSteps(Struct, frozen=True):
    """Cost of a month, and the price of running meters."""

    services: dict[str, GroupSteps]
    tags: dict[str | None, GroupSteps]
    hourly: int
    monthly: int


class _OfService(Row):
    what: str
    untagged: int
    phase: int
    before: int
    after: int
    by_the_end: int
    hourly: int
    monthly: int


class _OfTag(Row):
    label: str
    phase: int
    before: int
    after: int
    by_the_end: int


_SPENT = (
    _PHASE,
    added(cents(month_so_far(until("hour")))).label("before"),
    added(cents(month_so_far(until("next")))).label("after"),
    added(cents(month_so_far(until("end")))).label("by_the_end"),
)
_BY_SERVICE = query(
    select(
        meter.c.what,
        UNTAGGED.label("untagged"),
        *_SPENT,
        *sums.RATES,
    )
    .where(ALONE)
    .group_by(meter.c.what, literal_column("untagged"), literal_column("phase")),
    _OfService,
)
_BY_TAG = query(
    select(tag.c.label, *_SPENT)
    .select_from(meter.join(tagged, CARRIES).join(tag, MINE))
    .where(ALONE)
    .group_by(tag.c.label, literal_column("phase")),
    _OfTag,
)


class _Group:
    def __init__(self) -> None:
        self.so_far = Growing()
        self.by_the_end = 0

    def add(self, phase: int, before: int, after: int, by_the_end: int) -> None:
        self.so_far.add(phase, before, after)
        self.by_the_end += by_the_end


class _Month:
    """Cost of a month during its summation."""

    def __init__(self) -> None:
        self.services: defaultdict[str, _Group] = defaultdict(_Group)
        self.tags: defaultdict[str | None, _Group] = defaultdict(_Group)
        self.hourly = 0
        self.monthly = 0

    def add_alone(self, row: _OfService) -> None:
        self.services[row.what].add(row.phase, row.before, row.after, row.by_the_end)
        if row.untagged:
            self.tags[None].add(row.phase, row.before, row.after, row.by_the_end)
        self.hourly += row.hourly
        self.monthly += row.monthly

    def add_chained(self, meter: Meter, labels: list[str], before: int, after: int, by_the_end: int) -> None:
        phase = meter.began % clock.HOUR
        self.services[meter.what].add(phase, before, after, by_the_end)
        carried: Sequence[str | None] = labels or [None]
        for label in carried:
            self.tags[label].add(phase, before, after, by_the_end)
        if meter.ended is None:
            self.hourly += meter.hourly
            self.monthly += meter.monthly

    def steps(self, hour: int) -> MonthSteps:
        services = {
            what: GroupSteps(Steps(hour, group.so_far), group.by_the_end) for what, group in self.services.items()
        }
        tags = {label: GroupSteps(Steps(hour, group.so_far), group.by_the_end) for label, group in self.tags.items()}
        return MonthSteps(services, tags, self.hourly, self.monthly)


def _month(ctx: Context, hour: int) -> MonthSteps:
    db, month = ctx.db, _Month()
    first = usage.month_start(hour)
    end = usage.month_end(first)
    chained = meters.chained(db, ctx.account_id, first)
    moments = {"first": first, "hour": hour, "next": hour + clock.HOUR, "end": end}
    values = {"account_id": ctx.account_id, "chains": sums.chains_of(chained), **moments}
    for service in db.all(_BY_SERVICE, **values):
        month.add_alone(service)
    for row in db.all(_BY_TAG, **values):
        month.tags[row.label].add(row.phase, row.before, row.after, row.by_the_end)
    before, after, by_the_end = (
        {charge.meter.id: whole_cents(charge.amount) for charge in usage.charges(chained, moment, first)}
        for moment in (hour, hour + clock.HOUR, end)
    )
    labels = sums.labels(db, ctx.account_id, chained)
    for link in chained:
        number = link.id
        amounts = (before.get(number, 0), after.get(number, 0), by_the_end.get(number, 0))
        month.add_chained(link, labels.get(number, []), *amounts)
    return month.steps(hour)


def _size(month: MonthSteps) -> int:
    return sum(len(group.so_far) for groups in (month.services, month.tags) for group in groups.values())


_MONTHS = HourSums(_month, _size)


def month(ctx: Context) -> MonthSteps | None:
    """Return the sums of this hour; None before the second request, which computes them."""
    return _MONTHS.find(ctx)
