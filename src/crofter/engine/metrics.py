"""Counters of the engine, for export."""

from __future__ import annotations

import threading
from collections import Counter

from crofter.clock import DAY, SECOND
from crofter.db import Query, Row, Session, query
from crofter.db.sql import bindparam, exists, func, or_, select
from crofter.engine.queue import state_in
from crofter.engine.tables import operation, worker

COUNTED = (
    *("claimed", "done", "scheduled", "failed", "cancelled", "slept"),
    *("retries", "hung", "fenced", "reaps", "returned", "unavailable"),
)


class Metrics:
    """Counters since the start of this process.

    ``claimed``, ``done``, ``scheduled`` (done and without an event), ``failed``, ``cancelled``, ``slept``, ``retries``,
    ``hung`` (a step past its deadline), ``fenced`` (work discarded because another worker had taken over), ``reaps``
    (operations taken back from dead workers), ``returned`` (released on pause or stop), ``unavailable`` (a claim or
    checkpoint that waited for the database).
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, amount: int = 1) -> None:
        if amount:
            with self._lock:
                self._counts[name] += amount

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    @property
    def ended(self) -> int:
        return self._counts["done"] + self._counts["failed"] + self._counts["cancelled"]

    def snapshot(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


class Depth(Row):
    """How much work of one queue is in one state, and when the oldest of it fell due (service time)."""

    queue: str
    state: str
    amount: int
    oldest_due: int


def _depth(*states: str) -> Query[Depth]:
    return query(
        select(
            operation.c.queue,
            operation.c.state,
            func.count().label("amount"),
            func.min(operation.c.due).label("oldest_due"),
        )
        .where(state_in(operation, *states))
        .group_by(operation.c.queue, operation.c.state),
        Depth,
    )


# Apart, because each half has an index that holds nothing of the past.
_READY, _RUNNING = _depth("queued", "waiting"), _depth("running")


def depth(db: Session) -> list[Depth]:
    """Return the present depth of the queue, over all processes."""
    return db.all(_READY) + db.all(_RUNNING)


STUCK_SECONDS = 60
"""Seconds after which due and unclaimed work counts as stuck."""

_holder = operation.alias("holder")
# Work behind an earlier operation on the same key is not stuck: only the first one may be.
_STUCK: Query[int] = query(
    select(func.count()).where(
        state_in(operation, "queued", "waiting"),
        operation.c.due < bindparam("before"),
        or_(
            state_in(operation, "waiting"),
            ~exists().where(_holder.c.key == operation.c.key, state_in(_holder, "running", "waiting")),
        ),
    )
)
_UNOWNED: Query[int] = query(
    select(func.count()).where(state_in(operation, "running"), operation.c.owner.not_in(select(worker.c.id)))
)
_FAILED: Query[int] = query(
    select(func.count()).where(state_in(operation, "failed"), operation.c.finished > bindparam("after"))
)
_WORKING: Query[int] = query(select(func.count()).where(worker.c.works))
_LISTED: Query[int] = query(select(func.count()).where(worker.c.id == bindparam("id")))


class Overview(Row):
    """How the work of all processes stands."""

    workers: int
    """Processes that take operations and are not missed."""
    stuck: int
    failed: int
    """Within the last day of service time."""


def overview(db: Session, now: int) -> Overview:
    stuck = db.value(_STUCK, before=now - STUCK_SECONDS * SECOND) + db.value(_UNOWNED)
    return Overview(working(db), stuck, db.value(_FAILED, after=now - DAY))


def working(db: Session) -> int:
    """How many processes take operations. One that died is off the list as soon as another process misses it."""
    return int(db.value(_WORKING))


def listed(db: Session, worker_id: int) -> bool:
    """True if the process is registered as a worker."""
    return bool(db.value(_LISTED, id=worker_id))
