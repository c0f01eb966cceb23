"""Advancing of service time: all work that falls due is done in time order before the clock moves on."""

from __future__ import annotations

import queue as handover
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec import Struct

from crofter import events
from crofter.clock import HOUR, SECOND
from crofter.db import Database, Row, Session, query
from crofter.db.sql import select
from crofter.engine import queue, schedules, timekeeping
from crofter.engine.runner import Runner
from crofter.engine.travel_lock import TravelLock
from crofter.engine.worker import Worker
from crofter.errors import Invalid

LOOK_AGAIN = 0.02
"""Seconds between two looks at work that other processes have not put down yet."""
ENDED = ("done", "failed", "cancelled")
MOST_POLLS = 50
"""Maximum number of polls of an operation that does not end while time is frozen."""
FAR = HOUR
"""A longer way than this is not stopped on for what may as well be missed."""


class TimeTravel:
    """Runs operations one at a time while all background workers, of every process, are paused."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._runtime = worker.runtime
        self._sole_thread = threading.Lock()
        self._sole_process = TravelLock(worker.runtime.database)
        self._step_thread = StepThread(worker.runtime.database)
        self._coming: Coming | None = None
        """Next due moment, valid until any work is done."""
        self.release: Callable[[], list[int]] = list
        """Ends all waiting for what is no matter of time; which operations waited for it."""

    def close(self) -> None:
        self._sole_process.close()

    # calls for the sandbox API

    def drain(self) -> int:
        """Do all that is due now, without moving time; how many operations ended."""
        with self._travelling() as ended:
            self._do_all_due()
            return ended()

    def advance(self, seconds: float) -> tuple[int, int]:
        """Move service time by ``seconds``; what time it is then, and how many operations ended."""
        with self._travelling() as ended:
            now = self._runtime.clock.now()
            target = now + round(seconds * SECOND)
            self._do_all_due()
            if target - now > FAR:
                self._go_far(target)
            while (moment := self._next_moment()) is not None and moment <= target:
                self._do_all_due(at=moment)
            self._jump(target)
            count = ended()
        return self._runtime.clock.now(), count

    def _go_far(self, target: int) -> None:
        """Up to the target, past what may be missed: that is done once after anything else, and once at the end."""
        quiet = False
        while (moment := self._next_moment(only_needed=quiet)) is not None and moment <= target:
            news = self._do_all_due(at=moment, only_needed=quiet)
            if news and quiet:
                self._do_all_due()  # work that was passed over, since its state may differ now
            quiet = not news
        self._jump(target)
        self._do_all_due()

    def settle(self, limit_seconds: float = 86400) -> tuple[int, int]:
        """Let time run until nothing is queued or under way, but no longer than the limit."""
        with self._travelling() as ended:
            target = self._runtime.clock.now() + round(limit_seconds * SECOND)
            self._do_all_due()
            while self._unsettled() and (moment := self._next_moment()) is not None and moment <= target:
                self._do_all_due(at=moment)
            count = ended()
        return self._runtime.clock.now(), count

    def tick(self) -> Ticked | None:
        """On a frozen clock: advance to the next due work and do one step of one operation; return it, or None.

        Schedules and internal operations are done on the way.
        """
        if self._runtime.clock.setting.mode != "frozen":
            raise Invalid("The clock runs; freeze it first")
        with self._travelling():
            self._release()
            while True:
                schedules.enqueue_due(self._runtime)
                ticked = self._step_of_one()
                if ticked is not None or (moment := self._next_moment_of_event()) is None:
                    return ticked
                self._jump(moment)

    def finish(self, op_id: int) -> None:
        """Do the rest of one operation without moving time. If it waits for others, it stays as it is.

        Then do the follow-up work that its end has queued, such as an inspection after a failure.
        """
        with self._travelling():
            left: int | None = op_id
            for _ in range(MOST_POLLS):
                if left is None:
                    return
                with self._runtime.database.write() as db:
                    queue.hasten(db, left, self._runtime.clock.now())
                run, _ = self._worker.claim(only=left)
                if run is None:
                    return
                self._step_thread.do(run)
                self._worker.let_go(run)
                left = self._left_of(run)

    def _left_of(self, run: Runner) -> int | None:
        with self._runtime.database.read() as db:
            seen = queue.look(db, run.row.id)
            if seen is not None and seen.state not in ENDED:
                return run.row.id
            if run.row.key is None:
                return None
            return queue.next_quiet(db, run.row.key, run.row.event_id, self._runtime.clock.now())

    def freeze(self) -> int:
        """Make the clock stand; background workers do nothing until it runs or is moved."""
        with self._alone(), self._worker.paused():
            timekeeping.put(self._runtime, self._runtime.clock.frozen())
        return self._runtime.clock.now()

    def thaw(self) -> int:
        """Let the clock run again from its frozen time."""
        with self._alone():
            timekeeping.running_from(self._runtime, self._runtime.clock.now())
        return self._runtime.clock.now()

    # ---- taking over ------------------------------------------------------------------------------------------------

    @contextmanager
    def standstill(self, *, then_as_stored: bool = False) -> Iterator[None]:
        """Pause the work of all processes while the caller changes the server or its clock.

        ``then_as_stored``: the caller restores a clock too, which continues in its stored mode.
        """
        with self._alone(), self._worker.paused():
            before = self._runtime.clock.setting
            # Every claim reads the clock, so a held one stops the workers of the other processes too.
            timekeeping.hold(self._runtime, self._runtime.clock.now(), afterwards=before.mode)
            self._runtime.clock.held = True
            try:
                self._sole_process.await_claims()
                while self._others_are_busy():
                    time.sleep(LOOK_AGAIN)
                yield
            finally:
                self._runtime.clock.held = False
                timekeeping.let_go(self._runtime, least=None if then_as_stored else before)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread or process travels meanwhile."""
        with self._sole_thread, self._sole_process.held():
            if self._runtime.database.dialect != "sqlite":
                timekeeping.load(self._runtime)  # another process may have moved it while we waited
            yield

    @contextmanager
    def _travelling(self) -> Iterator[Ended]:
        ended = Ended(self._worker)
        with self.standstill():
            with self._runtime.database.relaxed_durability():
                yield ended
            self._jump(self._runtime.clock.now())  # and with it, all that was done is on disk

    # ---- moving -----------------------------------------------------------------------------------------------------

    def _jump(self, moment: int) -> None:
        timekeeping.jump(self._runtime, moment)

    def _next_moment(self, *, only_needed: bool = False) -> int | None:
        coming = self._coming
        if coming is None:
            with self._runtime.database.read() as db:
                coming = self._look_ahead(db)
        moments = (coming.operation, coming.scheduled(only_needed=only_needed))
        return min((moment for moment in moments if moment is not None), default=None)

    def _look_ahead(self, db: Session) -> Coming:
        self._coming = db.one(_COMING, now=self._runtime.clock.now(), me=self._worker.heartbeat.id)
        return self._coming

    def _next_moment_of_event(self) -> int | None:
        with self._runtime.database.read() as db:
            if not queue.any_with_event(db):
                return None
        return self._next_moment()

    def _step_of_one(self) -> Ticked | None:
        self._coming = None
        while (run := self._worker.claim()[0]) is not None:
            step = run.cursor
            self._step_thread.do(run, one_step=run.row.event_id is not None)
            self._worker.let_go(run)
            if run.row.event_id is not None:
                with self._runtime.database.read() as db:
                    seen = events.look(db, run.row.event_id)
                return Ticked(run.row.event_id, seen.action, step, seen.status in events.ENDED)
        return None

    def _unsettled(self) -> bool:
        with self._runtime.database.read() as db:
            return queue.unsettled(db, self._runtime.clock.now())

    def _do_all_due(self, *, at: int | None = None, only_needed: bool = False) -> bool:
        """Do all due work. Return True if any of it was more than routine schedules.

        ``at``: the moment to move to first; the work known for that moment decides whether schedules are checked.
        """
        coming, self._coming = self._coming, None
        first = None if coming is None else coming.scheduled(only_needed=only_needed)
        scheduled = at is None or coming is None or (first is not None and first <= at)
        jump: Callable[[Session], None] | None = None
        if at is not None and scheduled:
            self._jump(at)
        elif at is not None:
            jump = partial(timekeeping.move, self._runtime, moment=at)
        if scheduled:
            schedules.enqueue_due(self._runtime, only_needed=only_needed, known=at is not None and coming is not None)
        news = False
        while True:
            run, _ = self._worker.claim(before=jump, ahead=self._look_ahead)
            jump = None
            if run is not None:
                self._coming = None
                news = news or schedules.OCCURRENCE not in run.row.vars
                self._step_thread.do(run)
                self._worker.let_go(run)
            elif self._others_are_busy(self._coming):
                time.sleep(LOOK_AGAIN)
            elif not self._release():
                return news

    def _release(self) -> bool:
        released = self.release()
        if released:
            self._coming = None
            with self._runtime.database.write() as db:
                for op_id in released:
                    queue.hasten(db, op_id, self._runtime.clock.now())
        return bool(released)

    def _others_are_busy(self, coming: Coming | None = None) -> bool:
        if self._runtime.database.dialect == "sqlite":
            return False  # there are no others
        if coming is None:
            with self._runtime.database.read() as db:
                coming = self._look_ahead(db)
        return coming.elsewhere is not None


class Coming(Row):
    """Upcoming work at one moment."""

    elsewhere: int | None
    """An operation that another process is still at work on."""
    operation: int | None
    """When the next operation falls due."""
    any_schedule: int | None
    """When the next schedule does."""
    needed_schedule: int | None
    """Next schedule whose occurrences must not be missed."""

    def scheduled(self, *, only_needed: bool) -> int | None:
        return self.needed_schedule if only_needed else self.any_schedule


_COMING = query(
    select(
        queue.ELSEWHERE.scalar_subquery().label("elsewhere"),
        queue.NEXT.scalar_subquery().label("operation"),
        schedules.NEXT.scalar_subquery().label("any_schedule"),
        schedules.NEXT_NEEDED.scalar_subquery().label("needed_schedule"),
    ),
    Coming,
)


class Ticked(Struct, frozen=True):
    """The step that a tick has done."""

    id: int
    """Id of the event."""
    action: str
    step: str
    done: bool
    """True if the event has ended."""


class Ended:
    """How many operations have ended since."""

    def __init__(self, worker: Worker) -> None:
        self._metrics = worker.metrics
        self._before = worker.metrics.ended

    def __call__(self) -> int:
        return self._metrics.ended - self._before


class StepThread:
    """A work thread, replaced if a step hangs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox: handover.SimpleQueue[tuple[Runner, bool]] | None = None

    def do(self, run: Runner, *, one_step: bool = False) -> None:
        if self._inbox is None:
            self._inbox = handover.SimpleQueue()
            threading.Thread(target=self._work, args=(self._inbox,), name="time-travel", daemon=True).start()
        self._inbox.put((run, one_step))
        run.over.wait()
        if run.taken:
            self._inbox = None

    def _work(self, inbox: handover.SimpleQueue[tuple[Runner, bool]]) -> None:
        with self._database.relaxed_durability():
            while True:
                run, one_step = inbox.get()
                run.go(partial(bool, one_step))
                if run.taken:
                    return
