"""Meters: what costs money by the hour, from when to when."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Index, Integer, Text, bindparam, case, delete, func, or_, select, update

from crofter.db import Id, Row, Session, Time, among, identity, owned, query, table, unindexed

# Something that costs money by the hour, from when it began to when it ended. Nothing else is ever changed of a meter
# but its label, up to when it was billed, and its end if what it stands for lives on: what it has come to is worked out
# anew each time.
meter = table(
    "meter",
    identity(),
    owned(),
    Column("chain", Id),  # the first of several meters that one object had in turn; null of that first one
    Column("what", Text, nullable=False),  # compute, backup, ip, managed, volume, nodebalancer
    Column("object_id", Id, nullable=False),
    Column("label", Text, nullable=False),
    Column("hourly", Id, nullable=False),  # micro-dollars
    Column("monthly", Id, nullable=False),  # the most that a month may cost
    Column("transfer", Integer, nullable=False),  # gigabytes of traffic that a month of it gives
    Column("began", Time, nullable=False),
    Column("ended", Time),
    Column("billed_until", Time, nullable=False),
    Index("ix_meter_account_id", "account_id", "ended"),
    Index("ix_meter_object", "what", "object_id"),
)
# Traffic of instances that left the account, by deletion or transfer: nobody can be asked for it any more.
traffic = table(
    "traffic",
    identity(),
    owned(),
    Column("month", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("bytes", Id, nullable=False),
    Column("at", Time, nullable=False),  # when it left: what comes later is of another stay
    Index("ix_traffic_account_id", "account_id", "month", "object_id"),
)


class Meter(Row):
    id: int
    account_id: int
    chain: int | None
    what: str
    object_id: int
    label: str
    hourly: int
    monthly: int
    transfer: int
    began: int
    ended: int | None
    billed_until: int


_METERS = select(meter)
_OF_ACCOUNT = meter.c.account_id == bindparam("account_id")
_UNBILLED = or_(meter.c.ended.is_(None), meter.c.billed_until < meter.c.ended)
_OLDEST = query(select(func.min(meter.c.billed_until)).where(_OF_ACCOUNT, _UNBILLED))
_SINCE = query(
    _METERS.where(_OF_ACCOUNT, or_(meter.c.ended.is_(None), meter.c.ended > bindparam("since"))).order_by(meter.c.id),
    Meter,
)
# Named by its index alone: an object has few meters, and its account may have thousands.
_OF_OBJECTS = query(
    _METERS.where(
        unindexed(meter.c.account_id) == bindparam("account_id"),
        among(meter.c.what, "kinds"),
        among(meter.c.object_id, "ids"),
        or_(meter.c.ended.is_(None), meter.c.ended > bindparam("since")),
    ).order_by(meter.c.id),
    Meter,
)
_RUNNING = query(
    _METERS.where(
        meter.c.what == bindparam("what"), meter.c.object_id == bindparam("object_id"), meter.c.ended.is_(None)
    ).order_by(meter.c.id),
    Meter,
)
_LAST_ENDED = query(
    select(func.max(meter.c.ended)).where(
        meter.c.what == bindparam("what"), meter.c.object_id == bindparam("object_id")
    )
)
_BILLED = query(
    update(meter)
    .where(_OF_ACCOUNT, _UNBILLED, meter.c.billed_until < bindparam("until"))
    .values(billed_until=case((meter.c.ended < bindparam("until"), meter.c.ended), else_=bindparam("until")))
)
_STOP_ALL = query(update(meter).where(_OF_ACCOUNT, meter.c.ended.is_(None)).values(ended=bindparam("at")))
_STOP_KIND = query(
    update(meter)
    .where(_OF_ACCOUNT, meter.c.what == bindparam("kind"), meter.c.ended.is_(None))
    .values(ended=bindparam("at"))
)
_RATES = query(
    select(func.coalesce(func.sum(meter.c.hourly), 0), func.coalesce(func.sum(meter.c.monthly), 0)).where(
        _OF_ACCOUNT, meter.c.ended.is_(None)
    ),
    lambda hourly, monthly: (int(hourly), int(monthly)),
)
_USED = select(meter.c.account_id).where(_UNBILLED, meter.c.account_id > bindparam("after"))
_SENT = select(traffic.c.account_id).where(
    traffic.c.month == bindparam("month"), traffic.c.account_id > bindparam("after")
)
BILLABLE = query(_USED.distinct().order_by(meter.c.account_id).limit(bindparam("most")))
"""Accounts that used something which no invoice has yet."""
BILLABLE_OF_MONTH = query(_USED.union(_SENT).order_by("account_id").limit(bindparam("most")))
"""And those that have nothing any more, and may owe for traffic of the month."""


class Left(Row):
    """What an instance had sent and received when it left the account."""

    object_id: int
    bytes: int
    at: int


_OF_MONTH = (
    select(traffic.c.object_id, traffic.c.bytes, traffic.c.at)
    .where(traffic.c.account_id == bindparam("account_id"), traffic.c.month == bindparam("month"))
    .order_by(traffic.c.id)
)
_LEFT = query(_OF_MONTH, Left)
_THESE_LEFT = query(_OF_MONTH.where(among(traffic.c.object_id, "ids")), Left)
_CAME_BACK = query(
    delete(traffic).where(
        traffic.c.account_id == bindparam("account_id"),
        traffic.c.object_id == bindparam("object_id"),
        traffic.c.at >= bindparam("since"),
    )
)


def oldest_unbilled(db: Session, account_id: int) -> int | None:
    """From when on there is something that no invoice has."""
    found: int | None = db.value(_OLDEST, account_id=account_id)
    return found


def since(db: Session, account_id: int, since: int) -> list[Meter]:
    """Meters of the account that ran at any time after ``since``, oldest first."""
    return db.all(_SINCE, account_id=account_id, since=since)


def of_objects(db: Session, account_id: int, kinds: Sequence[str], ids: Sequence[int], since: int) -> list[Meter]:
    """Those of them that are of a few objects."""
    return db.all(_OF_OBJECTS, account_id=account_id, kinds=list(kinds), ids=list(ids), since=since)


def running(db: Session, what: str, object_id: int) -> list[Meter]:
    return db.all(_RUNNING, what=what, object_id=object_id)


def last_ended(db: Session, what: str, object_id: int) -> int | None:
    found: int | None = db.value(_LAST_ENDED, what=what, object_id=object_id)
    return found


def mark_billed(db: Session, account_id: int, until: int) -> None:
    db.run(_BILLED, account_id=account_id, until=until)


def stop_all(db: Session, account_id: int, at: int) -> None:
    db.run(_STOP_ALL, account_id=account_id, at=at)


def stop_kind(db: Session, account_id: int, what: str, at: int) -> None:
    db.run(_STOP_KIND, account_id=account_id, kind=what, at=at)


def rates(db: Session, account_id: int) -> tuple[int, int]:
    """Micro-dollars by the hour, and at most by the month, of all that runs."""
    return db.one(_RATES, account_id=account_id)


def left(db: Session, account_id: int, month: str, ids: Sequence[int] | None = None) -> list[Left]:
    """Instances, or those of these, that left the account in a month, in the order in which they did."""
    if ids is None:
        return db.all(_LEFT, account_id=account_id, month=month)
    return db.all(_THESE_LEFT, account_id=account_id, month=month, ids=list(ids))


def came_back(db: Session, account_id: int, object_id: int, since: int) -> None:
    """An instance has not left after all."""
    db.run(_CAME_BACK, account_id=account_id, object_id=object_id, since=since)
