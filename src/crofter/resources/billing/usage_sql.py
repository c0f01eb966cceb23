"""The rules of ``usage`` in SQL, for a meter that is alone: its object had no other in the months in question."""

from __future__ import annotations

from crofter import clock
from crofter.db import among
from crofter.db.sql import (
    BigInteger,
    ColumnElement,
    Integer,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    greatest,
    least,
)
from crofter.money import CENT
from crofter.resources.billing import meters
from crofter.resources.billing.meters import meter
from crofter.resources.tags.store import tag, tagged

COMPUTE = "compute"
OF_INSTANCES = (COMPUTE, "backup", "ip", "managed")


def at(name: str) -> ColumnElement[int]:
    return bindparam(name, type_=BigInteger())


def month_so_far(moment: ColumnElement[int]) -> ColumnElement[int]:
    """Micro-dollars of a meter alone, from the first of a month to a moment of it that is not after its end.

    Months begin on the hour, so the first hour of a meter that begins in one does so at its own minute of the first.
    """
    begins = greatest(meter.c.began, at("first") + meter.c.began % clock.HOUR)
    hours = greatest(0, (moment - begins + (clock.HOUR - 1)) // clock.HOUR)
    return least(meter.c.hourly * hours, meter.c.monthly)


def until(name: str) -> ColumnElement[int]:
    """Return the moment, or the meter's end if that is earlier."""
    return least(func.coalesce(meter.c.ended, at(name)), at(name))


def cents(amount: ColumnElement[int]) -> ColumnElement[int]:
    """Round like ``money.whole_cents``: each line before it is added."""
    return (amount + CENT // 2) // CENT * CENT


def added(amount: ColumnElement[int]) -> ColumnElement[int]:
    """A sum of whole numbers that stays one: PostgreSQL makes decimals of large ones."""
    return cast(func.coalesce(func.sum(amount), 0), BigInteger().with_variant(Integer(), "sqlite"))


_CHAIN = func.coalesce(meter.c.chain, meter.c.id)
ALONE = and_(meters.ran_since("first"), ~among(_CHAIN, "chains"))
UNBILLED_SINCE = greatest(meter.c.began, meter.c.billed_until, at("first"))
# Tags by object: backups and addresses belong to an instance. An instance that left the account may carry tags of its
# new owner, which must not appear.
CARRIES = and_(
    tagged.c.kind == case((meter.c.what.in_(OF_INSTANCES), COMPUTE), else_=meter.c.what),
    tagged.c.object_id == meter.c.object_id,
)
MINE = and_(tag.c.id == tagged.c.tag_id, tag.c.account_id == bindparam("account_id"))
UNTAGGED = case((exists().where(CARRIES, MINE), 0), else_=1)
