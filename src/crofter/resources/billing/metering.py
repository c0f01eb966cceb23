"""What costs money by the hour, and how much of it has come together."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from crofter import clock
from crofter.context import Context
from crofter.db import Session
from crofter.resources.billing import store
from crofter.resources.billing.store import Meter


class Line(Struct, frozen=True):
    """What one meter has to bill for one stretch of one month."""

    meter: Meter
    hours: int
    amount: int
    start: int
    stop: int
    month: str
    month_amount: int


def start(ctx: Context, account_id: int, what: str, object_id: int, label: str, hourly: int, monthly: int) -> None:
    """From now on this costs money."""
    store.new_meter(
        ctx.db,
        {
            "account_id": account_id,
            "what": what,
            "object_id": object_id,
            "label": label,
            "hourly": hourly,
            "monthly": monthly,
            "began": ctx.now,
            "ended": None,
            "billed_hours": 0,
            "billed_until": ctx.now,
            "month": month_of(ctx.now),
            "month_amount": 0,
        },
    )


def stop(ctx: Context, what: str, object_id: int) -> None:
    """From now on it does not."""
    for found in store.running(ctx.db, what, object_id):
        ctx.db.update(store.meter, {"id": found.id}, ended=ctx.now)


def move(ctx: Context, what: str, object_id: int, to_account: int) -> None:
    """It costs somebody else from now on."""
    for found in store.running(ctx.db, what, object_id):
        ctx.db.update(store.meter, {"id": found.id}, ended=ctx.now)
        start(ctx, to_account, what, object_id, found.label, found.hourly, found.monthly)


def month_of(moment: int) -> str:
    return clock.text(moment)[:7]


def month_end(moment: int) -> int:
    """The first moment of the month after."""
    day = datetime.fromtimestamp(moment / 1000, UTC)
    year, month = divmod(day.year * 12 + day.month, 12)
    return int(datetime(year, month + 1, 1, tzinfo=UTC).timestamp()) * 1000


def lines(found: Meter, until: int) -> list[Line]:
    """What a meter has to bill up to ``until``. Begun hours count whole, and no month costs more than its cap."""
    stop_at = until if found.ended is None else min(until, found.ended)
    made: list[Line] = []
    current = found
    while current.billed_until < stop_at:
        edge = min(stop_at, month_end(current.billed_until))
        hours = -(-(edge - current.began) // clock.HOUR) - current.billed_hours
        month = month_of(current.billed_until)
        spent = current.month_amount if current.month == month else 0
        amount = max(0, min(hours * current.hourly, current.monthly - spent))
        made.append(Line(current, hours, amount, current.billed_until, edge, month, spent + amount))
        current = replace(
            current,
            billed_hours=current.billed_hours + hours,
            billed_until=edge,
            month=month,
            month_amount=spent + amount,
        )
    return made


def uninvoiced(db: Session, account_id: int, now: int) -> int:
    """Micro-dollars that the next invoice would come to, before tax."""
    return sum(line.amount for found in store.unbilled(db, account_id) for line in lines(found, now))


def cost_so_far(db: Session, what: str, object_id: int, now: int) -> int:
    """Micro-dollars since an object began, for meters that still run."""
    total = 0
    for found in store.running(db, what, object_id):
        afresh = replace(found, billed_hours=0, billed_until=found.began, month=month_of(found.began), month_amount=0)
        total += sum(line.amount for line in lines(afresh, now))
    return total
