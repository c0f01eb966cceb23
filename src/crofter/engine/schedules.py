"""Work on a schedule: each occurrence becomes one operation, however late and however often one looks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct

from crofter.clock import DAY, MINUTE, SECOND
from crofter.context import Context, Runtime
from crofter.db import Row, among, query
from crofter.db.sql import bindparam, func, select
from crofter.engine import timekeeping
from crofter.engine.claim import log
from crofter.engine.operation import Operation, operations_of
from crofter.engine.queue import enqueue
from crofter.engine.tables import schedule
from crofter.errors import Busy
from crofter.events import Author

Catchup = Literal["last", "all", "none"]
LATE = MINUTE
"""An occurrence found this much too late counts as missed, where missed ones are let go."""
BATCH = 100
OCCURRENCE = "occurrence"
"""Under this name an operation that a schedule made knows which moment it is for."""


class Schedule(Struct, frozen=True):
    """Work of the system itself, listed in the registry."""

    name: str
    operation: Operation
    rule: str
    args: Struct
    catchup: Catchup = "last"
    key: str | None = None


# ---- rules: "every 60", "daily 02:30", "monthly" --------------------------------------------------------------------


def following(rule: str, moment: int) -> int:
    """The first occurrence after ``moment``; of an interval, the one that an occurrence at ``moment`` leads to."""
    word, _, detail = rule.partition(" ")
    if word == "every":
        return moment + round(float(detail) * SECOND)
    day = datetime.fromtimestamp(moment / SECOND, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "daily":
        hour, _, minute = detail.partition(":")
        today = int((day + timedelta(hours=int(hour), minutes=int(minute or 0))).timestamp()) * SECOND
        return today if today > moment else today + DAY
    if word == "monthly":
        return int((day.replace(day=1) + timedelta(days=32)).replace(day=1).timestamp()) * SECOND
    raise ValueError(f"no such rule: {rule}")


def occurrences(rule: str, first: int, now: int, catchup: Catchup) -> tuple[list[int], int]:
    """Return the missed occurrences since ``first`` that must be caught up, and the next occurrence after now."""
    if rule.startswith("every ") and catchup != "all":
        # A clock that jumps by months must not be counted up minute by minute.
        step = following(rule, first) - first
        first += max(0, (now - first) // step) * step
    due: list[int] = []
    upcoming = first
    while upcoming <= now:
        due.append(upcoming)
        upcoming = following(rule, upcoming)
    if catchup == "all":
        return due, upcoming
    last = [moment for moment in due[-1:] if catchup == "last" or now - moment <= LATE]
    return last, upcoming


# ---- changing -------------------------------------------------------------------------------------------------------


def add(
    ctx: Context,
    name: str,
    operation: Operation,
    args: Struct,
    rule: str,
    *,
    key: str | None = None,
    catchup: Catchup = "last",
    first: int | None = None,
    account_id: int | None = None,
) -> None:
    """Put ``operation`` on a schedule, or change the schedule of that name. A changed rule starts afresh."""
    values = {
        "kind": operation.kind,
        "key": key,
        "account_id": account_id,
        "input": msgspec.to_builtins(args),
        "catchup": catchup,
    }
    fresh = following(rule, timekeeping.now(ctx.runtime, ctx.db)) if first is None else first
    known = ctx.db.maybe(_NAMED, name=name)
    if known is None:
        ctx.db.insert(schedule, name=name, rule=rule, next_due=fresh, **values)
    elif known.rule != rule or first is not None:
        ctx.db.update(schedule, {"name": name}, rule=rule, next_due=fresh, **values)
    else:
        ctx.db.update(schedule, {"name": name}, **values)


def remove(ctx: Context, name: str) -> bool:
    """Take a schedule away. Operations that it has already made stay."""
    return ctx.db.delete(schedule, name=name) > 0


def ensure(ctx: Context, schedules: Iterable[Schedule]) -> None:
    """Add the scheduled work of the server at its start; what ran on time goes on on time."""
    for known in schedules:
        add(ctx, known.name, known.operation, known.args, known.rule, key=known.key, catchup=known.catchup)


# ---- occurring -------------------------------------------------------------------------------------------------------


class Scheduled(Row):
    name: str
    kind: str
    key: str | None
    account_id: int | None
    input: dict[str, Any]
    rule: str
    catchup: Catchup
    next_due: int


_ALL = select(*(schedule.c[name] for name in Scheduled.__struct_fields__))
_NAMED = query(_ALL.where(schedule.c.name == bindparam("name")), Scheduled)
# Several processes may look at once; each takes other rows.
_DUE = (
    _ALL.where(schedule.c.next_due <= bindparam("now"), among(schedule.c.kind, "kinds"))
    .order_by(schedule.c.next_due, schedule.c.name)
    .limit(BATCH)
    .with_for_update(skip_locked=True)
)
NEXT = select(func.min(schedule.c.next_due)).where(schedule.c.next_due > bindparam("now"))
_MISSED = schedule.c.catchup != "none"
"""Schedules whose occurrences would be missed; those of the others may be passed over."""
_DUE_BY_NEED = {False: query(_DUE, Scheduled), True: query(_DUE.where(_MISSED), Scheduled)}
_ANY_DUE = query(select(schedule.c.name).where(schedule.c.next_due <= bindparam("now")).limit(1))
NEXT_NEEDED = NEXT.where(_MISSED)


def enqueue_due(runtime: Runtime, *, only_needed: bool = False, known: bool = False) -> int:
    """Turn every occurrence that is due into an operation; how many were made. ``known``: some are due."""
    made, kinds = 0, operations_of(runtime).kinds
    if not known:
        with runtime.database.read() as db:  # most looks find nothing, and keep no writer waiting
            if not db.value(_ANY_DUE, now=timekeeping.now(runtime, db)):
                return 0
    while True:
        with runtime.database.write() as db:
            ctx = Context(runtime, db)
            now = timekeeping.now(runtime, db)
            due = db.all(_DUE_BY_NEED[only_needed], now=now, kinds=kinds)
            for scheduled in due:
                made += _advance(ctx, scheduled, now)
        if len(due) < BATCH:
            return made


def _advance(ctx: Context, scheduled: Scheduled, now: int) -> int:
    """Advance the schedule and create its operations in one transaction: none is lost or created twice."""
    kind = operations_of(ctx.runtime).find(scheduled.kind)
    assert kind is not None
    moments, upcoming = occurrences(scheduled.rule, scheduled.next_due, now, scheduled.catchup)
    made = 0
    for moment in moments:
        try:
            operation_id = enqueue(
                ctx,
                kind,
                msgspec.convert(scheduled.input, kind.args),
                key=scheduled.key,
                due=moment,
                dedup=f"{scheduled.name}@{moment}",
                author=None if scheduled.account_id is None else Author(scheduled.account_id, None, ""),
                vars={OCCURRENCE: moment},
            )
        except Busy:
            log.info("%s was left out: its object is busy", scheduled.name)
            continue
        made += operation_id is not None
    ctx.db.update_later(schedule, {"name": scheduled.name}, next_due=upcoming)
    return made
