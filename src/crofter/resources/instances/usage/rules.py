"""Usage of an instance: statistics for graphs, and traffic for invoices."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import UTC, datetime

from crofter import clock
from crofter.context import Context
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable, Usage
from crofter.errors import Invalid
from crofter.resources.instances.shapes import (
    IoStats,
    MonthTransfer,
    NetStats,
    Series,
    Stats,
    StatsData,
    TransferView,
)
from crofter.resources.instances.store import Instance
from crofter.resources.instances.usage import port

NO_STATS = "Stats are unavailable at this time."
POINT = 5 * clock.MINUTE
LONG_POINT = 2 * clock.HOUR
GIGABYTE = 10**9
BITS = 8.0


def recent(ctx: Context, instance: Instance) -> Stats:
    """The last 24 hours, in points of five minutes."""
    if ctx.now - clock.parse(instance.created) < POINT:
        raise Invalid(NO_STATS)
    stop = ctx.now // POINT * POINT
    return _stats(ctx, instance, stop - clock.DAY, stop, POINT)


def of_month(ctx: Context, instance: Instance, year: int, month: int) -> Stats:
    """A month, in points of two hours."""
    start, stop = bounds(ctx, year, month)
    if stop <= clock.parse(instance.created) or ctx.now - clock.parse(instance.created) < POINT:
        raise Invalid(NO_STATS)
    return _stats(ctx, instance, start, min(stop, ctx.now), LONG_POINT)


def bounds(ctx: Context, year: int, month: int) -> tuple[int, int]:
    """Return the first moments of a month and of the next; future months are refused."""
    if not 2000 <= year <= 2037:
        raise Invalid("Must be 2000-2037", field="year")
    if not 1 <= month <= 12:
        raise Invalid("Must be 1-12", field="month")
    start = int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
    if start > ctx.now:
        raise Invalid("Must be the current month or an earlier one")
    return start, start + calendar.monthrange(year, month)[1] * clock.DAY


def _history(ctx: Context, instance: Instance, start: int, stop: int, step: int) -> tuple[Usage, ...]:
    if instance.host is None:
        return _nothing(start, stop, step)
    ref = DomainRef(instance.host, instance.id)
    try:
        return port.history(ctx.runtime, ref, start, stop, step, until=port.deadline())
    except Absent:
        return _nothing(start, stop, step)  # its host was chosen, and the machine is still to come
    except Unreachable:
        raise Invalid(NO_STATS) from None


def _nothing(start: int, stop: int, step: int) -> tuple[Usage, ...]:
    """Return the empty usage of a machine that was never on."""
    return tuple(Usage(begin, min(begin + step, stop)) for begin in range(start, stop, step))


def _stats(ctx: Context, instance: Instance, start: int, stop: int, step: int) -> Stats:
    points = _history(ctx, instance, start, stop, step)
    span = "day (5 min avg)" if step == POINT else "month (2 h avg)"
    return Stats(
        data=StatsData(
            cpu=_series(points, "cpu", 0.1),  # milliseconds of a processor per second, as percent of one
            io=IoStats(_series(points, "io"), _series(points, "swap")),
            netv4=_net(points, "ipv4"),
            netv6=_net(points, "ipv6"),
        ),
        title=f"{instance.label} (#{instance.id}) - {span}",
    )


def _series(points: Sequence[Usage], field: str, per: float = 1.0) -> Series:
    """Amounts as rates: per second of the point that they fall into."""
    return [
        [point.start, round(getattr(point, field) * per / max(1, (point.stop - point.start) / 1000), 2)]
        for point in points
    ]


def _net(points: Sequence[Usage], family: str) -> NetStats:
    return NetStats(*(_series(points, f"{family}_{way}", BITS) for way in ("in", "out", "private_in", "private_out")))


def transfer(ctx: Context, instance: Instance) -> TransferView:
    """Traffic of the month so far, against what the plan gives for it."""
    now = datetime.fromtimestamp(ctx.now / 1000, UTC)
    used = month_transfer(ctx, instance, now.year, now.month).bytes_total
    over = max(0, used - instance.transfer * GIGABYTE)
    return TransferView(billable=-(-over // GIGABYTE), quota=instance.transfer, used=used)


def month_transfer(ctx: Context, instance: Instance, year: int, month: int) -> MonthTransfer:
    start, stop = bounds(ctx, year, month)
    created = clock.parse(instance.created)
    points = _history(ctx, instance, max(start, created), min(stop, ctx.now), clock.HOUR)
    received = sum(point.ipv4_in + point.ipv6_in for point in points)
    sent = sum(point.ipv4_out + point.ipv6_out for point in points)
    return MonthTransfer(bytes_in=received, bytes_out=sent, bytes_total=received + sent)
