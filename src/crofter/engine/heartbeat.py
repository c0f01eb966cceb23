"""The lease of this process, and the reaping of processes whose lease has run out."""

from __future__ import annotations

import os
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from crofter.clock import DAY, SECOND
from crofter.context import Runtime
from crofter.db import Id, Query, Row, Session, Time, query
from crofter.db.sql import Boolean, bindparam, literal_column, select, text, update
from crofter.engine import timekeeping
from crofter.engine.claim import STORAGE, log
from crofter.engine.metrics import Metrics
from crofter.engine.queue import TOPIC
from crofter.engine.tables import operation, worker

if TYPE_CHECKING:
    from psycopg import Connection

    from crofter.db.postgres import PostgresDatabase

WORKERS = 2
"""The class of advisory locks by which workers show that they live. Accounts have class 1."""
TIME_TRAVEL = 3


def standing(ahead: float) -> str:
    """Return the warning that service time has stopped, with the reason."""
    days = ahead * SECOND / DAY
    return f"the machine's clock jumped forward by {days:.1f} days; service time stands still and nothing falls due"


class Other(Row):
    """Another process among the workers."""

    id: int
    lease: int
    locked: bool


_OTHERS = query(select(worker.c.id).where(worker.c.id != bindparam("me")))
# The server frees a dead process's lock at once, long before its lease runs out.
_LIVING: Query[Other] = query(
    text(
        "SELECT id, lease, EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"
        f" AND classid = {WORKERS} AND objid = CAST(worker.id AS oid) AND objsubid = 2"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS locked"
        " FROM worker WHERE id <> :me"
    ).columns(id=Id, lease=Time, locked=Boolean),
    Other,
)
_TAKEN_BACK = (
    update(operation)
    .where(operation.c.state == literal_column("'running'"))
    .values(state="waiting", due=0, owner=None, epoch=operation.c.epoch + 1, crashes=operation.c.crashes + 1)
)
_REAP: Query[Any] = query(_TAKEN_BACK.where(operation.c.owner == bindparam("dead")))
_REAP_STRAYS: Query[Any] = query(_TAKEN_BACK.where(operation.c.owner.not_in(select(worker.c.id))))
_PUT_BACK: Query[Any] = query(
    _TAKEN_BACK.where(operation.c.id == bindparam("id"), operation.c.epoch == bindparam("held_epoch"))
)


class _Mine(Row):
    id: int
    epoch: int


_MINE = query(
    select(operation.c.id, operation.c.epoch).where(
        operation.c.state == literal_column("'running'"), operation.c.owner == bindparam("me")
    ),
    _Mine,
)


class Heartbeat:
    """The lease row is the truth. On PostgreSQL a session lock makes a death known at once."""

    def __init__(self, runtime: Runtime, metrics: Metrics, lease: float, *, works: bool = True) -> None:
        self._runtime = runtime
        self._metrics = metrics
        self._lease = lease
        self._works = works
        self._signing = threading.Lock()
        self._lock_connection: Connection[Any] | None = None
        self._lock_held = False
        self._renew_at = self._judge_at = self._mark_at = 0.0
        self._leases: dict[int, tuple[int, float]] = {}
        """Last seen lease of each other worker, with the time of its first sight by the monotonic clock."""
        self._clock_was_behind = self._clock_was_ahead = False
        self._unheld: set[tuple[int, int]] = set()
        self.id = 0
        """Worker id of this process; replaced if the worker was considered dead."""

    # ---- this process -----------------------------------------------------------------------------------------------

    def sign_in(self) -> None:
        """Register as a worker, unless this process is registered."""
        with self._signing:
            if self._renew():
                return
            with self._runtime.database.write() as db:
                if db.dialect == "sqlite":  # a single process by rule: other entries are dead
                    for other in db.column(_OTHERS, me=0):
                        self._reap_worker(db, other)
                # As wide as the lock id; unseeded, because processes with the same seed would collide.
                fresh = 1 + secrets.randbelow(2**31 - 1)
                lease = timekeeping.machine(db) + self._span
                named = {"host": os.uname().nodename, "pid": os.getpid()}
                db.insert(worker, id=fresh, lease=lease, works=self._works, **named)
                self._take_liveness_lock(fresh)  # before others can see the row, or they would take it for dead
                self._metrics.add("reaps", db.run(_REAP_STRAYS))
            self.id = fresh

    def _renew(self) -> bool:
        self._renew_at = time.monotonic() + self._lease / 3
        if not self.id:
            return False
        with self._runtime.database.write() as db:
            return db.update(worker, {"id": self.id}, lease=timekeeping.machine(db) + self._span) == 1

    @property
    def _span(self) -> int:
        return round(self._lease * SECOND)

    def _take_liveness_lock(self, worker_id: int) -> None:
        """Show that this process lives, by a lock that goes when its connection goes."""
        if self._runtime.database.dialect == "sqlite":
            return
        if self._lock_connection is None or self._lock_connection.closed:
            self._lock_connection = cast("PostgresDatabase", self._runtime.database).connect()
        # Not waited for: after a broken connection the server may not know yet that the former holder is gone.
        self._lock_held = bool(self._ask("SELECT pg_try_advisory_lock(%s, %s)", WORKERS, worker_id))

    def _ask(self, sql: str, *values: int) -> Any:
        assert self._lock_connection is not None
        row = self._lock_connection.execute(sql.encode(), values).fetchone()
        return row[0] if row else None

    def _keep_liveness_lock(self) -> None:
        """Take the lock again if its connection broke: without it, others believe us dead."""
        if self._lock_connection is None:
            return
        import psycopg  # noqa: PLC0415 - known to be there: the lock is held by one of its connections

        try:
            if self._lock_held:
                self._ask("SELECT 1")
                return
        except psycopg.Error:
            self._lock_connection.close()
            self._lock_held = False
        try:
            self._take_liveness_lock(self.id)
        except psycopg.Error:
            return
        # The others lost theirs in the same moment; do not reap who is only slower to come back.
        self._judge_at = time.monotonic() + self._lease / 3
        self._renew_at = 0.0

    def beat(self, held: set[tuple[int, int]]) -> None:
        """Called a few times a second: stay alive, and reap the dead. ``held``: what our threads are at work on."""
        try:
            self._keep_liveness_lock()
            if time.monotonic() >= self._renew_at:
                self.sign_in()
                self._reap_unheard_claims(held)
                if self._lock_connection is not None:
                    self.release_abandoned_clock()
            self.reap()
            if time.monotonic() >= self._mark_at:
                self._mark_at = time.monotonic() + timekeeping.MARK_EVERY
                self._watch_clock()
        except STORAGE:
            self._metrics.add("unavailable")

    def _watch_clock(self) -> None:
        """Keep the mark below which service time does not fall, and say so when this machine's clock is behind it."""
        timekeeping.keep_mark(self._runtime)
        behind = self._runtime.clock.behind()
        if behind and not self._clock_was_behind:
            log.warning("this machine's clock is %.0f s behind; service time runs on without it", behind)
        elif self._clock_was_behind and not behind:
            log.warning("this machine's clock is no longer behind")
        self._clock_was_behind = behind > 0
        ahead = self._runtime.clock.ahead()
        if ahead and not self._clock_was_ahead:
            log.error("%s; see crofter admin clock show", standing(ahead))
        elif self._clock_was_ahead and not ahead:
            log.warning("service time runs again")
        self._clock_was_ahead = ahead > 0

    def _reap_unheard_claims(self, held: set[tuple[int, int]]) -> None:
        """Take back what is ours by its row but no thread works on: the commit of a claim that went unheard."""
        with self._runtime.database.read() as db:
            unheld = {(mine.id, mine.epoch) for mine in db.all(_MINE, me=self.id)} - held
        forgotten, self._unheld = unheld & self._unheld, unheld  # seen twice: not one that is just being taken up
        for op_id, epoch in forgotten:
            with self._runtime.database.write() as db:
                self._metrics.add("reaps", db.run(_PUT_BACK, id=op_id, held_epoch=epoch))
                db.signal(TOPIC)

    def sign_out(self) -> None:
        try:
            with self._runtime.database.write() as db:
                self._reap_worker(db, self.id)
            timekeeping.keep_mark(self._runtime, final=True)
        except STORAGE:
            log.warning("could not sign out; the lease will run out by itself")
        if self._lock_connection is not None:
            self._lock_connection.close()
            self._lock_connection = None

    # ---- the others -------------------------------------------------------------------------------------------------

    def reap(self) -> None:
        """Hand the operations of dead workers to the living."""
        if self._runtime.database.dialect == "sqlite":
            return  # there are no others
        with self._runtime.database.read() as db:
            others = db.all(_LIVING, me=self.id)
        for worker_id in self._dead(others):
            with self._runtime.database.write() as db:
                self._reap_worker(db, worker_id)

    def _dead(self, others: list[Other]) -> list[int]:
        """Return workers whose lease was not renewed in time or whose lock is gone.

        Measured by the local monotonic clock: with wall time, a clock set back would let a dead process keep its
        operations, and a clock set forward would take them from live processes.
        """
        now = time.monotonic()
        known, self._leases = self._leases, {}
        for other in others:
            lease, since = known.get(other.id, (None, now))
            self._leases[other.id] = (other.lease, since if lease == other.lease else now)
        quick = now >= self._judge_at
        return [
            other.id
            for other in others
            if now - self._leases[other.id][1] > self._lease or (quick and not other.locked)
        ]

    def _reap_worker(self, db: Session, dead: int) -> None:
        # The row first: that waits for a claim of the dead one that is just committing, and then sees it.
        db.delete(worker, id=dead)
        count = db.run(_REAP, dead=dead)
        if count:
            self._metrics.add("reaps", count)
            db.signal(TOPIC)

    def release_abandoned_clock(self) -> None:
        """Release a clock that was frozen by a process that died while advancing it."""
        if not self._clock_is_held():
            return
        if self._lock_connection is None:  # SQLite, and this is the start of its only process
            self._release_clock()
        elif self._ask("SELECT pg_try_advisory_lock(%s, 1)", TIME_TRAVEL):
            try:
                if self._clock_is_held():
                    self._release_clock()
            finally:
                self._ask("SELECT pg_advisory_unlock(%s, 1)", TIME_TRAVEL)

    def _clock_is_held(self) -> bool:
        with self._runtime.database.read() as db:
            return timekeeping.held(db) is not None

    def _release_clock(self) -> None:
        timekeeping.load(self._runtime)
        timekeeping.let_go(self._runtime)
