"""Amounts of meters: hours, micro-dollars, and the monthly cap.

A month of an object costs at most its dearest plan of that month, so its meters are computed as a chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from crofter import clock
from crofter.db import Session
from crofter.resources.billing import meters
from crofter.resources.billing.meters import Meter


class MeterCharge(Struct, frozen=True):
    """Charge of a meter for a stretch of a month."""

    meter: Meter
    hours: int
    amount: int
    start: int
    stop: int


# ---- months ---------------------------------------------------------------------------------------------------------


def month_of(moment: int) -> str:
    return clock.text(moment)[:7]


def month_start(moment: int) -> int:
    day = datetime.fromtimestamp(moment / 1000, UTC)
    return int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()) * 1000


def month_end(moment: int) -> int:
    """The first moment of the month after."""
    return month_start(month_start(moment) + 32 * clock.DAY)


# amounts


def unbilled(db: Session, account_id: int, until: int) -> list[MeterCharge]:
    """Return all unbilled charges up to ``until``."""
    oldest = meters.oldest_unbilled(db, account_id)
    if oldest is None:
        return []
    return charges(meters.since(db, account_id, month_start(oldest)), until)


def charges(every: Iterable[Meter], until: int, since: int | None = None) -> list[MeterCharge]:
    """Return the charges of meters up to ``until``: from ``since`` if given, otherwise from the last bill of each.

    ``every`` contains all meters of the account that ran in the months in question, so that caps are known.
    """
    chains: dict[int, list[Meter]] = {}
    for meter in every:
        chains.setdefault(meter.chain or meter.id, []).append(meter)
    made = [charge for chain in chains.values() for charge in _chain_charges(chain, until, since)]
    return sorted(made, key=lambda charge: (charge.meter.id, charge.start))


def _chain_charges(chain: list[Meter], until: int, since: int | None) -> Iterator[MeterCharge]:
    for place, meter in enumerate(chain):
        start = max(meter.began, meter.billed_until if since is None else since)
        stop = until if meter.ended is None else min(until, meter.ended)
        while start < stop:
            first, edge = month_start(start), min(stop, month_end(start))
            before, after = _month_so_far(chain, place, first, start), _month_so_far(chain, place, first, edge)
            if after.hours > before.hours:
                yield MeterCharge(meter, after.hours - before.hours, after.amount - before.amount, start, edge)
            start = edge


class _MonthSoFar(Struct, frozen=True):
    hours: int
    amount: int


def _month_so_far(chain: list[Meter], place: int, first: int, moment: int) -> _MonthSoFar:
    """Return the amount of a chain's meter between the first of a month and ``moment``."""
    spent = cap = hours = amount = 0
    for meter in chain[: place + 1]:
        hours = meters.begun_hours(meter, moment) - meters.begun_hours(meter, first)
        if hours:
            cap = max(cap, meter.monthly)
        amount = min(hours * meter.hourly, cap - spent)
        spent += amount
    return _MonthSoFar(hours, amount)
