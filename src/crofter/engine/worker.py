"""The worker of this process: threads per queue that claim and do operations, and a heartbeat that says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from crofter.clock import SECOND
from crofter.context import Runtime
from crofter.db import Duplicate, Session
from crofter.engine import queue, schedules, timekeeping
from crofter.engine.claim import STORAGE, begin, log
from crofter.engine.heartbeat import Heartbeat
from crofter.engine.metrics import Metrics
from crofter.engine.operation import Operation, Operations
from crofter.engine.queue import TOPIC, Unregistered
from crofter.engine.runner import Runner, may_begin
from crofter.engine.tables import Claimed
from crofter.engine.travel_lock import begin_claim
from crofter.errors import Unavailable

POOL_SIZES: dict[str, int] = {"std": 4, "probe": 2, "billing": 1, "bulk": 2}
"""Threads per queue. Slow or plentiful work has queues of its own, so that a reboot never waits behind it."""
BEAT = 0.25
"""Seconds between two heartbeats."""


class WorkerPool:
    """The threads of one queue. One of them at a time watches for work; the others wait to take its place."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.watching = threading.Lock()
        self.news = threading.Event()


class Worker:
    """Executes operations in the background. Without queues it only provides a worker id for an advance of time."""

    def __init__(
        self,
        runtime: Runtime,
        operations: Iterable[Operation],
        pool_sizes: Mapping[str, int] = POOL_SIZES,
        *,
        lease: float = 15.0,
        poll: float = 1.0,
    ) -> None:
        self.runtime = runtime
        self.metrics = Metrics()
        self.operations = Operations(operations)
        runtime.operations = self.operations
        self.heartbeat = Heartbeat(runtime, self.metrics, lease, works=bool(pool_sizes))
        self._pools = [WorkerPool(name, size) for name, size in pool_sizes.items()]
        self._poll = poll
        self._stopping = threading.Event()
        self._finished = threading.Event()
        self._gate = threading.Condition()
        self._busy = 0
        """Background threads that are claiming or working; guarded by the gate, as are the next two."""
        self._paused = 0
        self._runs: dict[Runner, WorkerPool | None] = {}
        self._threads: list[threading.Thread] = []
        self.stands_with_clock = True
        """True if claims stop while the clock is frozen. Real machines do not stop with the clock."""
        self._stop_listening: list[Callable[[], None]] = []

    # ---- its life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        timekeeping.load(self.runtime)
        self.heartbeat.sign_in()
        self.heartbeat.release_abandoned_clock()
        signals = self.runtime.database.signals
        self._stop_listening = [
            signals.listen(TOPIC, self._wake),
            signals.listen(timekeeping.CLOCK, self._clock_was_set),
        ]
        self._spawn("heartbeat", self._beat)
        if self._pools:
            self._spawn("scheduled", self._enqueue_due)
        for pool in self._pools:
            for _ in range(pool.size):
                self._spawn_for(pool)

    def stop(self, grace: float = 10.0) -> None:
        """Finish the steps under way within ``grace`` seconds, hand back the rest, and sign out."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        for stop in self._stop_listening:
            stop()
        self._wake(TOPIC)
        with self._gate:
            self._gate.wait_for(lambda: self._busy == 0, timeout=grace)
            left = tuple(self._runs)
        for run in left:
            try:
                run.put_back(crashed=False)
            except STORAGE:
                log.warning("operation %s could not be handed back; it will be when this worker is missed", run.row.id)
            run.release()
        self._finished.set()
        for thread in self._threads:
            thread.join(timeout=0.0 if left else 5.0)
        self.heartbeat.sign_out()

    def pause(self) -> None:
        """Claim nothing more, and wait until what is under way has come to a checkpoint."""
        with self._gate:
            self._paused += 1
            self._gate.wait_for(lambda: self._busy == 0)

    def resume(self) -> None:
        with self._gate:
            self._paused -= 1
        self._wake(TOPIC)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _spawn_for(self, pool: WorkerPool) -> None:
        self._spawn(f"queue {pool.name}", lambda: self._serve(pool))

    # ---- signals ----------------------------------------------------------------------------------------------------

    def _wake(self, topic: str) -> None:
        if self._paused:
            return  # the resuming process wakes all workers
        name = topic.partition(":")[2]
        for pool in self._pools:
            if name in ("", pool.name):
                pool.news.set()

    def _clock_was_set(self, _topic: str) -> None:
        if self._paused:
            return  # an advance in this process moves the clock and signals it
        with suppress(*STORAGE):  # the next claim reads the clock in any case
            timekeeping.load(self.runtime)

    # ---- the threads of a queue --------------------------------------------------------------------------------------

    def _serve(self, pool: WorkerPool) -> None:
        while (run := self._next(pool)) is not None:
            run.go(self._yielding)
            if run.taken:
                return  # a hung step: the heartbeat has started a replacement thread
            self.let_go(run)
            # The operation may be due again soon, and its key may be free for work of any queue.
            self._wake(TOPIC if run.row.key is not None else f"{TOPIC}:{pool.name}")

    def _yielding(self) -> bool:
        """True if running work must stop at its next checkpoint."""
        standing = self.stands_with_clock and self.runtime.clock.setting.mode == "frozen"
        return self._barred() or standing

    def _barred(self) -> bool:
        return self._paused > 0 or self._stopping.is_set()

    def _next(self, pool: WorkerPool) -> Runner | None:
        with pool.watching:
            while not self._stopping.is_set():
                pool.news.clear()
                run, timeout = self._try(pool)
                if run is not None:
                    return run
                pool.news.wait(timeout)
        return None

    def _try(self, pool: WorkerPool) -> tuple[Runner | None, float]:
        """Return an operation to run from this queue, or the seconds to sleep until the next signal."""
        run: Runner | None = None
        timeout = self._poll
        if self._enter():
            try:
                run, timeout = self.claim(pool)
            except STORAGE:
                self.metrics.add("unavailable")
            except Exception:
                log.exception("queue %s could not claim", pool.name)  # and must live to try again
            finally:
                if run is None:
                    self._leave()
        return run, timeout

    def _enter(self) -> bool:
        with self._gate:
            if self._barred():
                return False
            self._busy += 1
            return True

    def _leave(self) -> None:
        with self._gate:
            self._busy -= 1
            self._gate.notify_all()

    # ---- claiming ---------------------------------------------------------------------------------------------------

    def claim(
        self,
        pool: WorkerPool | None = None,
        *,
        only: int | None = None,
        before: Callable[[Session], None] | None = None,
        ahead: Callable[[Session], object] | None = None,
    ) -> tuple[Runner | None, float]:
        """Claim the next operation of a queue, or of any for an advance; or return the seconds without work.

        ``only``: claim this operation or none. ``before`` runs in the same transaction; so does ``ahead`` if there is
        no ``before``.
        """
        while True:
            if self._stopping.is_set():
                raise Unavailable
            try:
                with self.runtime.database.write() as db:
                    if before is not None:
                        before(db)
                    if pool is not None:
                        begin_claim(db)
                    now = timekeeping.now(self.runtime, db)
                    if pool is not None and self._only_travellers(db):
                        return None, self._poll
                    name = pool.name if pool else None
                    row = queue.claim(db, self.heartbeat.id, now, name, only)
                    if row is not None and row.held and may_begin(self._kind_of(row), row):
                        db.journal = None
                        row = begin(db, row, now)
                    due = None if row or name is None else queue.next_due(db, now, name)
                    if row is None and ahead is not None:
                        ahead(db)
                    db.changes_nothing = row is None and before is None
                break
            except Duplicate:
                continue  # a race for a key was lost, and the index has said so
            except Unregistered:
                self.heartbeat.sign_in()
        if row is None:
            return None, self._poll if due is None else min(self._poll, (due - now) / SECOND)
        run = Runner(self.runtime, self._kind_of(row), row, self.metrics)
        with self._gate:
            self._runs[run] = pool
        self.metrics.add("claimed")
        return run, 0.0

    def _kind_of(self, row: Claimed) -> Operation | None:
        return self.operations.find(row.kind, row.version)

    def _only_travellers(self, db: Session) -> bool:
        """True if time is frozen or being advanced: only the advancing process may run operations."""
        if self.runtime.clock.setting.mode != "frozen":
            return False
        return self.stands_with_clock or timekeeping.held(db) is not None

    def let_go(self, run: Runner) -> WorkerPool | None:
        """The thread that had claimed it is through with it. The pool that lacks a thread now, if it was of one."""
        with self._gate:
            pool = self._runs.pop(run, None)
            if pool is not None:
                self._busy -= 1
                self._gate.notify_all()
            return pool

    # ---- the other threads ------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        while not self._finished.wait(BEAT):
            try:
                self.heartbeat.beat(self._held())
                for run in tuple(self._runs):
                    if run.end_if_hung():
                        self._replace(run)
            except Exception:
                log.exception("the heartbeat failed")

    def _held(self) -> set[tuple[int, int]]:
        with self._gate:
            return {(run.row.id, run.row.epoch) for run in self._runs}

    def _replace(self, run: Runner) -> None:
        """Start a thread in place of a hung one."""
        pool = self.let_go(run)
        if pool is not None and not self._stopping.is_set():
            self._spawn_for(pool)

    def _enqueue_due(self) -> None:
        while not self._stopping.wait(self._poll):
            if not self._enter():
                continue
            try:
                if self.runtime.clock.setting.mode == "real":
                    schedules.enqueue_due(self.runtime)
            except STORAGE:
                self.metrics.add("unavailable")
            except Exception:
                log.exception("the schedules failed")
            finally:
                self._leave()
