"""A worker's claim on one operation: changes made exactly once, or not at all when the claim is lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from crofter import clock, events
from crofter.context import Context, Runtime
from crofter.db import Session
from crofter.db.database import TransactionConflict
from crofter.engine import queue, timekeeping
from crofter.engine.metrics import Metrics
from crofter.engine.queue import Fenced, Won
from crofter.engine.step_context import actor_of
from crofter.engine.tables import Claimed, operation
from crofter.errors import Unavailable

STORAGE = (Unavailable, TransactionConflict)
"""Errors of an unavailable or conflicting database, unrelated to the work."""

After = tuple[str, str]
"""State and cursor that a change leaves behind: what it is recognised by if its commit went unheard."""
Change = Callable[[Context, bool], After]
"""Writes under the fence; the flag is true if cancellation was requested."""

log = logging.getLogger("crofter.engine")


def begin(db: Session, row: Won, now: int) -> Won:
    """Record the begin in the claim's own transaction, which holds the account."""
    queue.save(db, row.id, row.epoch, started=now)
    assert row.account_id is not None
    assert row.event_id is not None
    events.started(db, now, row.account_id, row.event_id)
    return replace(row, started=now)


class Lost(Exception):
    """The claim was lost to another worker; pending writes are discarded."""


class Claim:
    def __init__(self, runtime: Runtime, row: Claimed, metrics: Metrics) -> None:
        self.runtime = runtime
        self.row = row
        self.cursor = row.cursor
        self.metrics = metrics
        self.over = threading.Event()
        """Set when the thread has let go of the operation, or the operation was taken from the thread."""
        self.asks_time = True
        """True if the current change will read the time."""
        self.taken = False
        """True if the operation was taken from the thread, which then ends: another thread has its slot."""

    def commit(self, change: Change) -> str:
        """Make one fenced change, however often the database fails, exactly once; the state it left."""
        after: After | None = None
        pause = 0.05
        while True:
            try:
                with self.runtime.database.write() as db:
                    cancelled = self.fence(db, self.cursor)
                    after = change(self.context(db), cancelled)
                break
            except Fenced:
                pass
            except STORAGE:
                self.metrics.add("unavailable")
            if self._has_happened(after):
                break
            if self.over.wait(pause):
                raise Lost
            pause = min(1.0, pause * 2)
        assert after is not None
        state, self.cursor = after
        return state

    def fence(self, db: Session, cursor: str) -> bool:
        if self.row.account_id is not None:
            db.lock_account(self.row.account_id)  # before the row, as everywhere: two locks in one order
        if self.asks_time:
            queue.ask_fence(db, self.row.id, self.row.epoch, cursor)
            timekeeping.ask_ahead(self.runtime, db)
        return queue.fence(db, self.row.id, self.row.epoch, cursor)

    def context(self, db: Session) -> Context:
        db.journal = None  # a step is no entry of the audit log, and may read more than is worth holding
        return Context(self.runtime, db, actor_of(self.row))

    def _has_happened(self, after: After | None) -> bool:
        """After a commit of unknown fate: look. One that lands later still moves the cursor, and the fence sees it."""
        try:
            with self.runtime.database.read() as db:
                seen = queue.look(db, self.row.id)
        except STORAGE:
            return False
        if seen is None and after is not None and after[0] == "done":
            return True  # an operation that leaves no row behind
        if seen is None or seen.epoch != self.row.epoch:
            raise Lost
        if (seen.state, seen.cursor) == ("running", self.cursor):
            return False
        if (seen.state, seen.cursor) == after:
            return True
        raise Lost

    def save(self, ctx: Context, **changes: Any) -> None:
        queue.save(ctx.db, self.row.id, self.row.epoch, **changes)

    # ---- changes that need no step ----------------------------------------------------------------------------------

    def start(self, ctx: Context, _cancelled: bool) -> After:
        now = timekeeping.now(ctx.runtime, ctx.db)
        self.save(ctx, started=now)
        if self.row.event_id is not None and self.row.account_id is not None:
            events.started(ctx.db, now, self.row.account_id, self.row.event_id)
        return "running", self.cursor

    def wait(self, seconds: float, **more: Any) -> Change:
        """Put it down, key and all, until ``seconds`` of service time have passed."""

        def change(ctx: Context, _cancelled: bool) -> After:
            due = timekeeping.now(ctx.runtime, ctx.db) + round(seconds * clock.SECOND)
            self.save(ctx, state="waiting", due=due, owner=None, **more)
            return "waiting", self.cursor

        return change

    # calls from other threads

    def release(self) -> None:
        """The thread that held it is given up; if it ever comes back, the fence stops it."""
        self.taken = True
        self.over.set()

    def put_back(self, *, crashed: bool) -> None:
        """Take it from wherever it is in its steps, for a successor to go on with."""
        with self.runtime.database.write() as db:
            now = timekeeping.now(self.runtime, db)
            counted = {"crashes": self.row.crashes + 1} if crashed else {}
            mine = {"id": self.row.id, "epoch": self.row.epoch, "state": "running"}
            changes = {"state": "waiting", "due": now, "owner": None, "epoch": self.row.epoch + 1}
            db.update(operation, mine, **changes, **counted)
            db.signal(f"{queue.TOPIC}:{self.row.queue}")
