"""What many meters come to together, added up by the database: an account may have thousands of them.

The rules are those of ``usage``, line by line, cents included. They are put into SQL for a meter that is alone: of an
object whose plan or owner did not change within the months in question, as nearly all are. The others form chains that
share a cap; they are fetched, and reckoned by ``usage`` itself.
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

# ---- what no invoice has --------------------------------------------------------------------------------------------

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
    """Of meters alone, month by month from the first of one."""
    total = 0
    while first < until:
        edge = usage.month_end(first)
        total += db.value(_UNINVOICED, account_id=account_id, chains=chains, first=first, until=min(until, edge))
        first = edge
    return total


def chains_of(chained: Collection[Meter]) -> list[int]:
    return sorted({meter.chain or meter.id for meter in chained})


# ---- what a month costs ---------------------------------------------------------------------------------------------


class ServiceSum(Row):
    """What the meters of one kind come to, and the price of those that run; all in micro-dollars.

    One of those whose objects carry tags, and another one of those that do not.
    """

    what: str
    untagged: int
    so_far: int
    by_the_end: int
    hourly: int
    monthly: int


class TagSum(Row):
    """What the meters of all objects with one tag come to."""

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
"""What all that runs costs by the hour, and by the month."""
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
    """What all meters of the account but these come to in the month of ``now``."""
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
