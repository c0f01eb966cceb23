"""Doing one claimed operation: step after step, until it ends, waits or is lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from msgspec import ValidationError

from crofter import clock, events
from crofter.context import Context, Runtime
from crofter.engine import endings, timekeeping
from crofter.engine.claim import STORAGE, After, Change, Claim, Lost, log
from crofter.engine.metrics import Metrics
from crofter.engine.operation import Failed, Operation, Sleep, Step
from crofter.engine.queue import Fenced
from crofter.engine.step_context import StepContext
from crofter.engine.tables import Claimed

CRASH_CAP = 10
"""How many workers may die over an operation before it is given up."""
LONGEST_BACKOFF = 60.0
LEVELS = {"done": logging.INFO, "cancelled": logging.INFO, "failed": logging.WARNING, "scheduled": logging.DEBUG}
"""How loud the end of an operation is in the log."""
STRANGER_WAIT = 30.0
"""Seconds before an operation that this process does not know is offered again."""


class Runner(Claim):
    """Executes an operation in a thread."""

    def __init__(self, runtime: Runtime, kind: Operation | None, row: Claimed, metrics: Metrics) -> None:
        super().__init__(runtime, row, metrics)
        self._kind = kind
        self._attempt = row.attempt
        self._saved: dict[str, Any] = row.vars
        self._watched: tuple[Step, str, float] | None = None

    def go(self, yielding: Callable[[], bool]) -> None:
        """Do step after step, until it ends or waits, or until ``yielding`` says to hand it back."""
        try:
            work = self._begin()
            while work is not None and self._step(work):
                if yielding():
                    self.commit(self.wait(0))
                    self.metrics.add("returned")
                    return
        except (Lost, Fenced):
            self.metrics.add("fenced")
        except BaseException:
            log.exception("operation %s (%s) broke the engine", self.row.id, self.row.kind)
            self.put_back(crashed=True)
        finally:
            self.over.set()

    def _begin(self) -> StepContext | None:
        if self._kind is None or self._kind.step_at(self.cursor) is None:
            # Newer code has admitted it: leave it to a process that knows it.
            self.commit(self.wait(STRANGER_WAIT, error=f"{self.row.kind} at {self.cursor} is not known here"))
            return None
        try:
            work = StepContext(self.runtime, self._kind, self.row)
        except ValidationError as error:
            self.commit(self._unreadable(error))
            self._tell_end("failed", "its arguments cannot be read")
            return None
        if self.row.crashes >= CRASH_CAP:
            self._end(work, "failed", endings.NEUTRAL, f"{self.row.crashes} workers died over it")
            return None
        if self.row.cancel:
            self._end(work, "cancelled", endings.CANCELLED, None)
            return None
        if self.row.started is None:
            self.commit(self.start)
        return work

    def _unreadable(self, error: Exception) -> Change:
        def change(ctx: Context, _cancelled: bool) -> After:
            now = timekeeping.now(ctx.runtime, ctx.db)
            # Without the arguments: any of them may be secret.
            self.save(ctx, state="failed", finished=now, owner=None, input={}, error=f"arguments: {error}"[:500])
            if self.row.event_id is not None and self.row.account_id is not None:
                events.failed(ctx.db, now, self.row.account_id, self.row.event_id, endings.NEUTRAL)
            return "failed", self.cursor

        return change

    # a single step

    def _step(self, work: StepContext) -> bool:
        """Execute a step and its checkpoint. Return True if more can be done now."""
        step = work.operation.step_at(self.cursor)
        assert step is not None
        try:
            outcome = self._outside(work, step) if step.external else None
            state = self.commit(self._checkpoint(work, step, outcome))
        except (Lost, Fenced):
            raise
        except Failed as error:
            self._end(work, "failed", str(error) or endings.NEUTRAL, f"{step.name}: {error}", error.percent)
            return False
        except BaseException as error:
            log.warning("operation %s (%s) failed at %s", self.row.id, self.row.kind, step.name, exc_info=error)
            self._try_later(work, step, f"{step.name}: {type(error).__name__}: {error}"[:500])
            return False
        if state == "running":
            self._saved, self._attempt = work.vars, 0
            return True
        self._tell_end(_counted_as(state, work.operation))
        return False

    def _outside(self, work: StepContext, step: Step) -> Sleep | None:
        work.enter(step, self.cursor, self._saved)
        self._watched = (step, self.cursor, time.monotonic() + step.deadline)
        try:
            return step.run(work)
        finally:
            self._watched = None

    def _checkpoint(self, work: StepContext, step: Step, outcome: Sleep | None) -> Change:
        following = work.operation.after(step)
        self.asks_time = outcome is not None or following is None

        def change(ctx: Context, cancelled: bool) -> After:
            if step.external:
                result = outcome
                for write in work.writes:
                    write(ctx)
            else:
                work.enter(step, self.cursor, self._saved)
                result = None if cancelled else step.run(ctx, work)
            last = following is None and result is None and step.external
            if cancelled and not last:  # completed work is kept even after a cancellation
                endings.unsuccessful(ctx, work, "cancelled", endings.CANCELLED, None)
                return "cancelled", self.cursor
            if result is not None:
                return self._asleep(ctx, work, result)
            if following is None:
                endings.done(ctx, work)
                return "done", self.cursor
            return self._moved(ctx, work, following)

        return change

    def _moved(self, ctx: Context, work: StepContext, following: Step) -> After:
        self.save(ctx, cursor=following.name, vars=work.vars, attempt=0)
        if work.event_id is not None and work.account_id is not None and work.failure is None:
            events.progress(ctx.db, work.account_id, work.event_id, work.operation.percent(following))
        return "running", following.name

    def _asleep(self, ctx: Context, work: StepContext, sleep: Sleep) -> After:
        # At least a millisecond: a step that polls must not keep a standing clock from moving on.
        due = timekeeping.now(ctx.runtime, ctx.db)
        if not (sleep.real_time and ctx.runtime.clock.setting.mode == "frozen"):
            due += max(1, round(sleep.seconds * clock.SECOND))
        self.save(ctx, state="waiting", due=due, vars=work.vars, attempt=0, owner=None)
        return "waiting", self.cursor

    # ---- when it goes wrong -----------------------------------------------------------------------------------------

    def _try_later(self, work: StepContext, step: Step, words: str) -> None:
        if self._attempt >= step.retries:
            self._end(work, "failed", endings.NEUTRAL, words)
        else:
            self.commit(self.wait(self._backoff, attempt=self._attempt + 1, error=words))
            self.metrics.add("retries")

    @property
    def _backoff(self) -> float:
        return min(LONGEST_BACKOFF, 2.0**self._attempt)

    def _end(self, work: StepContext, state: str, reason: str, error: str | None, percent: int | None = None) -> None:
        try:
            self.commit(self._ending(work, state, reason, error, percent, hook=True))
        except (Lost, Fenced):
            raise
        except Exception as broken:  # the resource's hook: the operation must end all the same
            log.exception("operation %s (%s): its failed hook raised", self.row.id, self.row.kind)
            words = f"{error}; its failed hook: {type(broken).__name__}: {broken}"[:500]
            self.commit(self._ending(work, state, reason, words, percent, hook=False))
        self._tell_end(state, error)

    def _ending(
        self, work: StepContext, state: str, reason: str, error: str | None, percent: int | None = None, *, hook: bool
    ) -> Change:
        def change(ctx: Context, _cancelled: bool) -> After:
            work.vars = self._saved
            endings.unsuccessful(ctx, work, state, reason, error, percent, hook=hook)
            return state, self.cursor

        return change

    # ---- the heartbeat's side ----------------------------------------------------------------------------------------

    def end_if_hung(self) -> bool:
        """Give up an attempt that is past its deadline. Whether it was taken from its thread."""
        watched = self._watched
        if watched is None or time.monotonic() < watched[2]:
            return False
        step, cursor, _ = watched
        words = f"{step.name}: still at it after {step.deadline:g} s"
        try:
            self._take(step, cursor, words)
        except (Fenced, *STORAGE):
            return False  # progress was made, or the next check decides
        except Exception:
            log.exception("operation %s (%s): its failed hook raised", self.row.id, self.row.kind)
            self.put_back(crashed=True)
        log.warning("operation %s (%s): %s", self.row.id, self.row.kind, words)
        self.metrics.add("hung")
        self.release()
        return True

    def _take(self, step: Step, cursor: str, words: str) -> None:
        final = self._attempt >= step.retries
        with self.runtime.database.write() as db:
            self.fence(db, cursor)
            if final:
                assert self._kind is not None
                work = StepContext(self.runtime, self._kind, self.row)
                self._ending(work, "failed", endings.NEUTRAL, words, hook=True)(self.context(db), False)
            else:
                later = self.wait(self._backoff, attempt=self._attempt + 1, error=words, epoch=self.row.epoch + 1)
                later(self.context(db), False)
        if final:
            self._tell_end("failed", words)
        else:
            self.metrics.add("retries")

    def _tell_end(self, what: str, error: str | None = None) -> None:
        """Count what became of it; if it has ended, one line in the log. The server's own work only when it fails."""
        self.metrics.add(what)
        if what in LEVELS:
            since = self.row.started
            seconds = 0.0 if since is None else (self.runtime.clock.now() - since) / clock.SECOND
            fields = {"operation": self.row.id, "kind": self.row.kind, "state": what, "seconds": round(seconds, 3)}
            fields |= {"account": self.row.account_id, "event": self.row.event_id, "error": error}
            words = f"operation {self.row.id} ({self.row.kind}) {what} after {seconds:.1f} s"
            log.log(LEVELS[what], "%s", words + (f": {error}" if error else ""), extra={"fields": fields})


def may_begin(kind: Operation | None, row: Claimed) -> bool:
    """True if its steps can run, so that its begin may be recorded."""
    return kind is not None and kind.step_at(row.cursor) is not None and row.crashes < CRASH_CAP and not row.cancel


def _counted_as(state: str, operation: Operation) -> str:
    """Return the metric of a final state. Work without a stored row is internal and counted separately."""
    if state == "waiting":
        return "slept"
    return "scheduled" if state == "done" and not operation.keep else state
