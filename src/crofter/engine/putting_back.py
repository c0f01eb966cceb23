"""Service time that is ahead of the machine's clock, put back to it while no process is at the database."""

from __future__ import annotations

from msgspec import Struct

from crofter.clock import SECOND
from crofter.context import Runtime
from crofter.db import Query, Row, Session, query
from crofter.db.sql import bindparam, delete, func, select, update
from crofter.engine import timekeeping
from crofter.engine.queue import state_in
from crofter.engine.schedules import following
from crofter.engine.tables import operation, schedule


class Times(Struct, frozen=True):
    """Service time and the machine's time, in milliseconds."""

    told: int
    machine: int

    @property
    def ahead(self) -> int:
        return self.told - self.machine


class _Planned(Row):
    name: str
    rule: str
    next_due: int


_PLANNED = query(select(schedule.c.name, schedule.c.rule, schedule.c.next_due), _Planned)
_UNFINISHED: Query[int] = query(
    select(func.count()).where(
        operation.c.account_id.is_not(None),
        state_in(operation, "running", "waiting")
        | (state_in(operation, "queued") & (operation.c.created > bindparam("now"))),
    )
)
# The schedules make the work of the server itself anew, at the times of the past.
_DROP = query(
    delete(operation).where(
        operation.c.account_id.is_(None),
        state_in(operation, "queued", "waiting", "running"),
        operation.c.created > bindparam("now"),
    )
)
_WAKE = query(
    update(operation)
    .where(operation.c.account_id.is_(None), state_in(operation, "waiting"), operation.c.due > bindparam("now"))
    .values(due=bindparam("wanted"))
)
# An occurrence that was done in the future is still to come.
_FORGET = query(
    update(operation).where(operation.c.dedup.is_not(None), operation.c.created > bindparam("now")).values(dedup=None)
)


def times(runtime: Runtime, db: Session) -> Times:
    return Times(runtime.clock.now(), timekeeping.machine(db))


def unfinished(db: Session, now: int) -> int:
    """Count the operations of accounts that were begun, or enqueued after ``now``: their times cannot be put back."""
    return int(db.value(_UNFINISHED, now=now))


def put_back(runtime: Runtime, db: Session, now: int) -> None:
    """Let service time go on from ``now``, and plan everything scheduled from there."""
    timekeeping.begin_again(runtime, db, now)
    for planned in db.all(_PLANNED):
        upcoming = following(planned.rule, now)
        if planned.next_due > upcoming:
            db.update(schedule, {"name": planned.name}, next_due=upcoming)
    db.run(_DROP, now=now)
    db.run(_WAKE, now=now, wanted=now + SECOND)
    db.run(_FORGET, now=now)
