"""Meters: what costs money by the hour, from when to when; how they start, stop and change.

A begun hour counts whole, and it counts once: when a plan changes or an object changes hands, the hour that has begun
is paid as it began, and what follows is paid from the next hour on. What meters come to is in ``usage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Row, Session, Time, among, identity, owned, partial_index, query, revisions, table, unindexed
from crofter.db.sql import (
    Column,
    ColumnElement,
    Index,
    Integer,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    or_,
    select,
    update,
)
from crofter.db.tables import INSERTED

# Something that costs money by the hour, from when it began to when it ended. Nothing else is ever changed of a meter
# but its label, up to when it was billed, and its end if what it stands for lives on: what it has come to is worked out
# anew each time.
meter = table(
    "meter",
    identity(),
    owned(),
    Column("chain", Id),  # the first of several meters that one object had in turn; null of that first one
    Column("what", Text, nullable=False),  # compute, backup, ip, managed, volume, nodebalancer, longview
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
    # Fully billed meters are excluded from queries for unbilled ones, however many there are.
    partial_index("ix_meter_unbilled", "account_id", "billed_until", where="ended IS NULL OR billed_until < ended"),
)


def _inserted(db: Session, row: Mapping[str, Any], _number: int) -> None:
    revisions.change(db, row["account_id"])


meter.info[INSERTED] = _inserted


class Price(Struct, frozen=True):
    """In micro-dollars: by the hour, and at most by the month."""

    hourly: int
    monthly: int

    def times(self, count: int) -> Price:
        return Price(self.hourly * count, self.monthly * count)


class Metered(Struct, frozen=True):
    """An object that costs money, as an invoice speaks of it."""

    what: str
    object_id: int
    label: str
    price: Price
    transfer: int = 0


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


class ChangedObject(Row):
    """An object with a changed price or payer, and the chain of its meters."""

    what: str
    object_id: int
    chain: int


_METERS = select(meter)
_CHAIN = func.coalesce(meter.c.chain, meter.c.id)
_OF_ACCOUNT = meter.c.account_id == bindparam("account_id")


def ran_since(moment: str) -> ColumnElement[bool]:
    """Meters of the account that ran at any time after a moment.

    The account is named in both halves: SQLite would go through all that it ever had if it were named beside them.
    """
    return or_(
        and_(_OF_ACCOUNT, meter.c.ended.is_(None)),
        and_(_OF_ACCOUNT, meter.c.ended > bindparam(moment, type_=Time)),
    )


_UNBILLED = or_(meter.c.ended.is_(None), meter.c.billed_until < meter.c.ended)
_OLDEST = query(select(func.min(meter.c.billed_until)).where(_OF_ACCOUNT, _UNBILLED))
_SINCE = query(_METERS.where(ran_since("since")).order_by(meter.c.id), Meter)
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
_later = meter.alias("later")
# An object has the meters of a chain one after the other: where several ran, all but the last have ended since.
_CHANGED_OBJECTS = query(
    select(meter.c.what, meter.c.object_id, _CHAIN.label("chain"))
    .distinct()
    .where(
        _OF_ACCOUNT,
        meter.c.ended > bindparam("since"),
        exists().where(
            _later.c.what == meter.c.what,
            _later.c.object_id == meter.c.object_id,
            _later.c.chain == _CHAIN,
            _later.c.id > meter.c.id,
            unindexed(_later.c.account_id) == meter.c.account_id,
        ),
    ),
    ChangedObject,
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
ACCOUNTS_WITH_UNBILLED = select(meter.c.account_id).where(_UNBILLED, meter.c.account_id > bindparam("after"))
_BILLABLE = query(ACCOUNTS_WITH_UNBILLED.distinct().order_by(meter.c.account_id).limit(bindparam("most")))


_RUNS = query(select(meter.c.id).where(_OF_ACCOUNT, meter.c.ended.is_(None)).limit(1))
_watchers: list[Callable[[Context, int], None]] = []


def watch(watcher: Callable[[Context, int], None]) -> None:
    """Register a function that is called for each account when a meter starts or stops."""
    _watchers.append(watcher)


# ---- starting and stopping ------------------------------------------------------------------------------------------


def start(ctx: Context, account_id: int, thing: Metered) -> None:
    """Start billing an object."""
    _insert(ctx, account_id, thing, ctx.now, None)


def stop(ctx: Context, what: str, object_id: int) -> bool:
    """Stop billing an object. False if it was not billed."""
    ending = running(ctx.db, what, object_id)
    for current in ending:
        _end(ctx, current)
    return bool(ending)


def change(ctx: Context, account_id: int, thing: Metered) -> None:
    """Bill the object at another price, or to another account, from now on."""
    for current in running(ctx.db, thing.what, thing.object_id):
        _end(ctx, current)
        _insert(ctx, account_id, thing, _next_hour(current, ctx.now), current.chain or current.id)


def resume(ctx: Context, what: str, object_id: int, along: Iterable[str]) -> int | None:
    """Undo the last stop, with the meters that stopped at the same moment; return that moment."""
    ended: int | None = ctx.db.value(_LAST_ENDED, what=what, object_id=object_id)
    if ended is not None:
        for kind in along:
            ctx.db.update(meter, {"what": kind, "object_id": object_id, "ended": ended}, ended=None)
            for resumed in running(ctx.db, kind, object_id):
                revisions.change(ctx.db, resumed.account_id)
        for current in running(ctx.db, what, object_id):
            _tell(ctx, current.account_id)
    return ended


def count(ctx: Context, account_id: int, thing: Metered, wanted: int) -> None:
    """Let as many meters run as there are such things; the latest is the first to stop."""
    current = running(ctx.db, thing.what, thing.object_id)
    for surplus in current[wanted:]:
        _end(ctx, surplus)
    for _ in range(wanted - len(current)):
        start(ctx, account_id, thing)


def move(ctx: Context, what: str, object_id: int, to_account: int, label: str | None = None) -> None:
    """Bill all running meters of an object to another account from now on."""
    for current in running(ctx.db, what, object_id):
        _end(ctx, current)
        price = Price(current.hourly, current.monthly)
        thing = Metered(what, object_id, label or current.label, price, current.transfer)
        _insert(ctx, to_account, thing, _next_hour(current, ctx.now), current.chain or current.id)


def rename(ctx: Context, what: str, object_id: int, label: str) -> None:
    for current in running(ctx.db, what, object_id):
        ctx.db.update(meter, {"id": current.id}, label=label)


def _insert(ctx: Context, account_id: int, thing: Metered, began: int, chain: int | None) -> None:
    ctx.db.price_changes.append((account_id, thing.price.hourly, thing.price.monthly))
    ctx.db.insert_later(
        meter,
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
    _tell(ctx, account_id)


def _end(ctx: Context, ending: Meter) -> None:
    ctx.db.price_changes.append((ending.account_id, -ending.hourly, -ending.monthly))
    revisions.change(ctx.db, ending.account_id)
    ctx.db.update_later(meter, {"id": ending.id}, ended=ctx.now)
    _tell(ctx, ending.account_id)


def _tell(ctx: Context, account_id: int) -> None:
    if not _watchers:
        raise RuntimeError("nobody watches what costs money: crofter.operations sees to that")
    for watcher in _watchers:
        watcher(ctx, account_id)


def _next_hour(ending: Meter, now: int) -> int:
    """When the hour ends that has begun and is paid for."""
    return ending.began + begun_hours(ending, now) * clock.HOUR


def begun_hours(metered: Meter, moment: int) -> int:
    """Hours of a meter that have begun by some moment."""
    moment = moment if metered.ended is None else min(moment, metered.ended)
    return max(0, -(-(moment - metered.began) // clock.HOUR))


# metered objects


def oldest_unbilled(db: Session, account_id: int) -> int | None:
    """From when on there is something that no invoice has."""
    oldest: int | None = db.value(_OLDEST, account_id=account_id)
    return oldest


def since(db: Session, account_id: int, since: int) -> list[Meter]:
    """Meters of the account that ran at any time after ``since``, oldest first."""
    return db.all(_SINCE, account_id=account_id, since=since)


def of_objects(db: Session, account_id: int, kinds: Sequence[str], ids: Sequence[int], since: int) -> list[Meter]:
    """Return the meters of some objects since a moment."""
    return db.all(_OF_OBJECTS, account_id=account_id, kinds=list(kinds), ids=list(ids), since=since)


def chained(db: Session, account_id: int, since: int) -> list[Meter]:
    """Return the meters of chains with several meters after ``since``, oldest first: a chain shares a cap."""
    changed = db.all(_CHANGED_OBJECTS, account_id=account_id, since=since)
    if not changed:
        return []
    kinds, ids = ({thing.what for thing in changed}, {thing.object_id for thing in changed})
    chains = {thing.chain for thing in changed}
    meters = of_objects(db, account_id, sorted(kinds), sorted(ids), since)
    return [meter for meter in meters if (meter.chain or meter.id) in chains]


def running(db: Session, what: str, object_id: int) -> list[Meter]:
    return db.all(_RUNNING, what=what, object_id=object_id)


def any_running(db: Session, account_id: int) -> bool:
    """True if a meter of the account is running."""
    return db.value(_RUNS, account_id=account_id) is not None


def mark_billed(db: Session, account_id: int, until: int) -> None:
    revisions.change(db, account_id)
    db.run(_BILLED, account_id=account_id, until=until)


def stop_all(db: Session, account_id: int, at: int) -> None:
    revisions.change(db, account_id)
    db.run(_STOP_ALL, account_id=account_id, at=at)


def stop_kind(db: Session, account_id: int, what: str, at: int) -> None:
    revisions.change(db, account_id)
    db.run(_STOP_KIND, account_id=account_id, kind=what, at=at)


def rates(db: Session, account_id: int) -> tuple[int, int]:
    """Micro-dollars by the hour, and at most by the month, of all that runs."""
    return db.one(_RATES, account_id=account_id)


def rate_change(db: Session, account_id: int) -> tuple[int, int]:
    """How much more all of it costs since this transaction began, by what was started and stopped in it.

    What is stopped for a whole account at once is not in it: no request does that in one transaction.
    """
    own = [(hourly, monthly) for payer, hourly, monthly in db.price_changes if payer == account_id]
    return sum(hourly for hourly, _ in own), sum(monthly for _, monthly in own)


def billable(db: Session, after: int, most: int) -> list[int]:
    """Accounts that used something which no invoice has yet, in the order of ids."""
    return db.column(_BILLABLE, after=after, most=most)
