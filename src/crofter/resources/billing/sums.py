"""What many meters come to together, added up by the database: an account may have thousands of them.

The rules are those of ``usage``, line by line, cents included. They are put into SQL for a meter that is alone: of an
object whose plan or owner did not change within the months in question, as nearly all are. The others form chains that
share a cap; they are fetched, and reckoned by ``usage`` itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

from crofter import clock
from crofter.db import Row, Session, among, query
from crofter.money import CENT, whole_cents
from crofter.resources.billing import meters, usage
from crofter.resources.billing.meters import Meter, meter
from crofter.resources.tags.store import tag, tagged

COMPUTE = "compute"
OF_INSTANCES = (COMPUTE, "backup", "ip", "managed")


class least(GenericFunction[int]):  # noqa: N801 - reads as a word of SQL
    type = BigInteger()
    inherit_cache = True


class greatest(GenericFunction[int]):  # noqa: N801 - reads as a word of SQL
    type = BigInteger()
    inherit_cache = True


@compiles(least, "sqlite")
def _least_sqlite(element: least, compiler: Any, **kw: Any) -> str:
    return f"min({compiler.process(element.clauses, **kw)})"


@compiles(greatest, "sqlite")
def _greatest_sqlite(element: greatest, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


# ---- the rules of usage, in SQL -------------------------------------------------------------------------------------


def _moment(name: str) -> ColumnElement[int]:
    return bindparam(name, type_=BigInteger())


def _month_so_far(moment: ColumnElement[int]) -> ColumnElement[int]:
    """Micro-dollars of a meter alone, from the first of a month to a moment of it that is not after its end.

    Months begin on the hour, so the first hour of a meter that begins in one does so at its own minute of the first.
    """
    begins = greatest(meter.c.began, _moment("first") + meter.c.began % clock.HOUR)
    hours = greatest(0, (moment - begins + (clock.HOUR - 1)) // clock.HOUR)
    return least(meter.c.hourly * hours, meter.c.monthly)


def _until(name: str) -> ColumnElement[int]:
    """The moment, or when the meter ended before it."""
    return least(func.coalesce(meter.c.ended, _moment(name)), _moment(name))


def _cents(amount: ColumnElement[int]) -> ColumnElement[int]:
    """As ``money.whole_cents``: of each line before it is added to others."""
    return (amount + CENT // 2) // CENT * CENT


def _added(amount: ColumnElement[int]) -> ColumnElement[int]:
    """A sum of whole numbers that stays one: PostgreSQL makes decimals of large ones."""
    return cast(func.coalesce(func.sum(amount), 0), BigInteger().with_variant(Integer(), "sqlite"))


_CHAIN = func.coalesce(meter.c.chain, meter.c.id)
_ALONE = and_(meters.ran_since("first"), ~among(_CHAIN, "chains"))


# ---- what no invoice has --------------------------------------------------------------------------------------------

_UNBILLED_SINCE = greatest(meter.c.began, meter.c.billed_until, _moment("first"))
_UNINVOICED = query(
    select(_added(_cents(_month_so_far(_until("until")) - _month_so_far(_UNBILLED_SINCE)))).where(
        _ALONE, _until("until") > _UNBILLED_SINCE
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
    chains = chains_of(chained)
    while first < now:
        edge = usage.month_end(first)
        total += db.value(_UNINVOICED, account_id=account_id, chains=chains, first=first, until=min(now, edge))
        first = edge
    return total


def chains_of(chained: Collection[Meter]) -> list[int]:
    return sorted({one.chain or one.id for one in chained})


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


_SPENT = (
    _added(_cents(_month_so_far(_until("now")))).label("so_far"),
    _added(_cents(_month_so_far(_until("end")))).label("by_the_end"),
)
# What tags call the object: backups and addresses are of an instance. One that left the account may carry tags of its
# new owner, which are nobody else's business.
_CARRIES = and_(
    tagged.c.kind == case((meter.c.what.in_(OF_INSTANCES), COMPUTE), else_=meter.c.what),
    tagged.c.object_id == meter.c.object_id,
)
_MINE = and_(tag.c.id == tagged.c.tag_id, tag.c.account_id == bindparam("account_id"))
_UNTAGGED = case((exists().where(_CARRIES, _MINE), 0), else_=1)
_BY_SERVICE = query(
    select(
        meter.c.what,
        _UNTAGGED.label("untagged"),
        *_SPENT,
        _added(case((meter.c.ended.is_(None), meter.c.hourly), else_=0)).label("hourly"),
        _added(case((meter.c.ended.is_(None), meter.c.monthly), else_=0)).label("monthly"),
    )
    .where(_ALONE)
    .group_by(meter.c.what, literal_column("untagged")),
    ServiceSum,
)
_BY_TAG = query(
    select(tag.c.label, *_SPENT)
    .select_from(meter.join(tagged, _CARRIES).join(tag, _MINE))
    .where(_ALONE)
    .group_by(tag.c.label),
    TagSum,
)
_LABELS = query(
    select(meter.c.id, tag.c.label)
    .select_from(meter.join(tagged, _CARRIES).join(tag, _MINE))
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
    found: dict[int, list[str]] = {}
    for row in db.all(_LABELS, account_id=account_id, ids=[one.id for one in metered]) if metered else ():
        found.setdefault(row.id, []).append(row.label)
    return found
