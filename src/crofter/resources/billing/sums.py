"""Sums of many meters, computed by the database: an account may have thousands.

The rules are those of ``usage``, line by line, including cents. SQL covers single meters: of objects whose plan and
owner did not change within the months in question, which are nearly all. Other meters form chains that share a cap;
these are fetched and computed by ``usage``.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from crofter.db import Row, Session, among, query
from crofter.db.sql import bindparam, case, literal_column, select
from crofter.money import whole_cents
from crofter.resources.billing import meters, usage
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

# amounts without an invoice

_UNINVOICED = query(
    select(added(cents(month_so_far(until("until")) - month_so_far(UNBILLED_SINCE)))).where(
        ALONE, until("until") > UNBILLED_SINCE
    )
)


def uninvoiced(db: Session, account_id: int, now: int) -> int:
    """Micro-dollars that an invoice of this moment would come to, before tax and credits."""
    oldest = meters.oldest_unbilled(db, account_id)
    if oldest is None:
        return 0
    first = usage.month_start(oldest)
    chained = meters.chained(db, account_id, first)
    total = sum(whole_cents(charge.amount) for charge in usage.charges(chained, now))
    return total + uninvoiced_alone(db, account_id, first, now, chains_of(chained))


def uninvoiced_alone(db: Session, account_id: int, first: int, until: int, chains: list[int]) -> int:
    """Return the unbilled sum of single meters, month by month from the oldest."""
    total = 0
    while first < until:
        edge = usage.month_end(first)
        total += db.value(_UNINVOICED, account_id=account_id, chains=chains, first=first, until=min(until, edge))
        first = edge
    return total


def chains_of(chained: Collection[Meter]) -> list[int]:
    return sorted({meter.chain or meter.id for meter in chained})


# cost of a month


class ServiceSum(Row):
    """Sum and running price of the meters of a kind, in micro-dollars.

    Objects with tags and without tags have separate rows.
    """

    what: str
    untagged: int
    so_far: int
    by_the_end: int
    hourly: int
    monthly: int


class TagSum(Row):
    """Sum of the meters of all objects with a tag."""

    label: str
    so_far: int
    by_the_end: int


class MonthSums(Struct, frozen=True):
    services: list[ServiceSum]
    tags: list[TagSum]


class LabelOf(Row):
    """A tag of what a meter stands for."""

    id: int
    label: str


RATES = tuple(
    added(case((meter.c.ended.is_(None), price), else_=0)).label(price.name)
    for price in (meter.c.hourly, meter.c.monthly)
)
"""Hourly and monthly price of all running meters."""
_SPENT = (
    added(cents(month_so_far(until("now")))).label("so_far"),
    added(cents(month_so_far(until("end")))).label("by_the_end"),
)
_BY_SERVICE = query(
    select(
        meter.c.what,
        UNTAGGED.label("untagged"),
        *_SPENT,
        *RATES,
    )
    .where(ALONE)
    .group_by(meter.c.what, literal_column("untagged")),
    ServiceSum,
)
_BY_TAG = query(
    select(tag.c.label, *_SPENT)
    .select_from(meter.join(tagged, CARRIES).join(tag, MINE))
    .where(ALONE)
    .group_by(tag.c.label),
    TagSum,
)
_LABELS = query(
    select(meter.c.id, tag.c.label)
    .select_from(meter.join(tagged, CARRIES).join(tag, MINE))
    .where(meter.c.account_id == bindparam("account_id"), among(meter.c.id, "ids")),
    LabelOf,
)


def of_month(db: Session, account_id: int, now: int, chained: Collection[Meter]) -> MonthSums:
    """Return the sums of all meters of the account except ``chained`` in the month of ``now``."""
    first = usage.month_start(now)
    values = {
        "account_id": account_id,
        "chains": chains_of(chained),
        "first": first,
        "now": now,
        "end": usage.month_end(first),
    }
    return MonthSums(db.all(_BY_SERVICE, **values), db.all(_BY_TAG, **values))


def labels(db: Session, account_id: int, metered: Collection[Meter]) -> dict[int, list[str]]:
    """The tags of the objects of some meters, by the id of the meter."""
    labels_by_meter: dict[int, list[str]] = {}
    for row in db.all(_LABELS, account_id=account_id, ids=[each.id for each in metered]) if metered else ():
        labels_by_meter.setdefault(row.id, []).append(row.label)
    return labels_by_meter
