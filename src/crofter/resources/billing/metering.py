"""What costs money by the hour, and how much of it has come together.

A begun hour counts whole, and it counts once: when a plan changes or an object changes hands, the hour that has begun
is paid as it began, and what follows is paid from the next hour on. No month costs more than the dearest plan that
the object had in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Session
from crofter.resources.billing import meters
from crofter.resources.billing.meters import Meter
from crofter.resources.billing.prices import Price
from crofter.resources.billing.taxes import whole_cents


class Metered(Struct, frozen=True):
    """An object that costs money, as an invoice speaks of it."""

    what: str
    object_id: int
    label: str
    price: Price
    transfer: int = 0


class Line(Struct, frozen=True):
    """What one meter has to bill for one stretch of one month."""

    meter: Meter
    hours: int
    amount: int
    start: int
    stop: int


# ---- starting and stopping ------------------------------------------------------------------------------------------


def start(ctx: Context, account_id: int, thing: Metered) -> None:
    """From now on this costs money."""
    _insert(ctx, account_id, thing, ctx.now, None)


def stop(ctx: Context, what: str, object_id: int) -> None:
    """From now on it does not."""
    for found in meters.running(ctx.db, what, object_id):
        _end(ctx, found)


def change(ctx: Context, account_id: int, thing: Metered) -> None:
    """It costs something else, or somebody else, from now on."""
    for found in meters.running(ctx.db, thing.what, thing.object_id):
        _end(ctx, found)
        _insert(ctx, account_id, thing, _next_hour(found, ctx.now), found.chain or found.id)


def resume(ctx: Context, account_id: int, what: str, object_id: int, along: Iterable[str]) -> None:
    """Undo the last stop, and that of whatever stopped in the same moment."""
    ended = meters.last_ended(ctx.db, what, object_id)
    if ended is not None:
        for one in along:
            ctx.db.update(meters.meter, {"what": one, "object_id": object_id, "ended": ended}, ended=None)
        meters.came_back(ctx.db, account_id, object_id, ended)


def count(ctx: Context, account_id: int, thing: Metered, wanted: int) -> None:
    """Let as many meters run as there are such things; the latest is the first to stop."""
    found = meters.running(ctx.db, thing.what, thing.object_id)
    for surplus in found[wanted:]:
        _end(ctx, surplus)
    for _ in range(wanted - len(found)):
        start(ctx, account_id, thing)


def move(ctx: Context, what: str, object_id: int, to_account: int, label: str | None = None) -> None:
    """All that runs for an object costs somebody else from now on."""
    for found in meters.running(ctx.db, what, object_id):
        _end(ctx, found)
        price = Price(found.hourly, found.monthly)
        thing = Metered(what, object_id, label or found.label, price, found.transfer)
        _insert(ctx, to_account, thing, _next_hour(found, ctx.now), found.chain or found.id)


def rename(ctx: Context, what: str, object_id: int, label: str) -> None:
    for found in meters.running(ctx.db, what, object_id):
        ctx.db.update(meters.meter, {"id": found.id}, label=label)


def _insert(ctx: Context, account_id: int, thing: Metered, began: int, chain: int | None) -> None:
    ctx.db.insert(
        meters.meter,
        account_id=account_id,
        chain=chain,
        what=thing.what,
        object_id=thing.object_id,
        label=thing.label,
        hourly=thing.price.hourly,
        monthly=thing.price.monthly,
        transfer=thing.transfer,
        began=began,
        ended=None,
        billed_until=began,
    )


def _end(ctx: Context, found: Meter) -> None:
    ctx.db.update(meters.meter, {"id": found.id}, ended=ctx.now)


def _next_hour(found: Meter, now: int) -> int:
    """When the hour ends that has begun and is paid for."""
    return found.began + _hours(found, now) * clock.HOUR


# ---- months ---------------------------------------------------------------------------------------------------------


def month_of(moment: int) -> str:
    return clock.text(moment)[:7]


def month_start(moment: int) -> int:
    day = datetime.fromtimestamp(moment / 1000, UTC)
    return int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()) * 1000


def month_end(moment: int) -> int:
    """The first moment of the month after."""
    return month_start(month_start(moment) + 32 * clock.DAY)


# ---- what it comes to -----------------------------------------------------------------------------------------------


def unbilled(db: Session, account_id: int, until: int) -> list[Line]:
    """All that no invoice has yet, up to ``until``."""
    oldest = meters.oldest_unbilled(db, account_id)
    if oldest is None:
        return []
    return lines(meters.since(db, account_id, month_start(oldest)), until)


def uninvoiced(db: Session, account_id: int, now: int) -> int:
    """Micro-dollars that an invoice of this moment would come to, before tax and credits."""
    return sum(whole_cents(line.amount) for line in unbilled(db, account_id, now))


def lines(every: Iterable[Meter], until: int, since: int | None = None) -> list[Line]:
    """What meters come to up to ``until``: since ``since`` if that is given, else since each was last billed.

    ``every`` is all of an account that ran in the months in question, so that caps are known.
    """
    chains: dict[int, list[Meter]] = {}
    for found in every:
        chains.setdefault(found.chain or found.id, []).append(found)
    made = [line for chain in chains.values() for line in _chain_lines(chain, until, since)]
    return sorted(made, key=lambda line: (line.meter.id, line.start))


def _chain_lines(chain: list[Meter], until: int, since: int | None) -> Iterator[Line]:
    for place, found in enumerate(chain):
        start = max(found.began, found.billed_until if since is None else since)
        stop = until if found.ended is None else min(until, found.ended)
        while start < stop:
            first, edge = month_start(start), min(stop, month_end(start))
            before, after = _charged(chain, place, first, start), _charged(chain, place, first, edge)
            if after.hours > before.hours:
                yield Line(found, after.hours - before.hours, after.amount - before.amount, start, edge)
            start = edge


class _Charged(Struct, frozen=True):
    hours: int
    amount: int


def _charged(chain: list[Meter], place: int, first: int, moment: int) -> _Charged:
    """What one of a chain has come to between the first of a month and some moment of it."""
    spent = cap = hours = amount = 0
    for found in chain[: place + 1]:
        hours = _hours(found, moment) - _hours(found, first)
        if hours:
            cap = max(cap, found.monthly)
        amount = min(hours * found.hourly, cap - spent)
        spent += amount
    return _Charged(hours, amount)


def _hours(found: Meter, moment: int) -> int:
    """Hours that have begun."""
    moment = moment if found.ended is None else min(moment, found.ended)
    return max(0, -(-(moment - found.began) // clock.HOUR))
