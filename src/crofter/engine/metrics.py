"""What the engine counts, for whoever exports it."""

from __future__ import annotations

import threading
from collections import Counter

from sqlalchemy import func, select

from crofter.db import Query, Row, Session, query
from crofter.engine.queue import state_in
from crofter.engine.tables import operation


class Metrics:
    """Counts since the start of this process.

    ``claimed``, ``done``, ``scheduled`` (done, and told elsewhere), ``failed``, ``cancelled``, ``slept``,
    ``retries``, ``hung`` (a step past its deadline), ``fenced`` (work thrown away because another worker had
    taken over), ``reaps`` (operations taken back from dead workers), ``returned`` (handed back on pause or
    stop), ``unavailable`` (a claim or checkpoint that had to wait for the database).
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
    """The queue as it is now, in all processes."""
    return db.all(_READY) + db.all(_RUNNING)
