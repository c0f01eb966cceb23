"""The worker of this process: threads per lane that claim and do operations, and a pulse that says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from crofter.clock import SECOND
from crofter.context import World
from crofter.db import Clash
from crofter.engine import chores, queue, timekeeping
from crofter.engine.grip import STORAGE, log
from crofter.engine.metrics import Metrics
from crofter.engine.operation import Book, Operation
from crofter.engine.pulse import Pulse
from crofter.engine.queue import TOPIC, Unregistered
from crofter.engine.run import Run
from crofter.errors import Unavailable

LANES: dict[str, int] = {"std": 4, "probe": 2, "billing": 1, "bulk": 2}
"""Threads per lane. Slow or plentiful work has lanes of its own, so that a reboot never waits behind it."""
BEAT = 0.25


class Lane:
    """The threads of one lane. One of them at a time watches for work; the others wait for its turn."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.turn = threading.Lock()
        self.news = threading.Event()


class Worker:
    """Does operations in the background. With no lanes it only lends its name to a conductor."""

    def __init__(
        self,
        world: World,
        operations: Iterable[Operation],
        lanes: Mapping[str, int] = LANES,
        *,
        lease: float = 15.0,
        poll: float = 1.0,
    ) -> None:
        self.world = world
        self.metrics = Metrics()
        self.book = Book(operations)
        world.services["operations"] = self.book
        self.pulse = Pulse(world, self.metrics, lease)
        self._lanes = [Lane(name, size) for name, size in lanes.items()]
        self._poll = poll
        self._stopping = threading.Event()
        self._finished = threading.Event()
        self._gate = threading.Condition()
        self._busy = 0
        """Background threads that are claiming or working; guarded by the gate, as are the next two."""
        self._paused = 0
        self._runs: dict[Run, Lane | None] = {}
        self._threads: list[threading.Thread] = []
        self._deaf: list[Callable[[], None]] = []

    # ---- its life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        timekeeping.load(self.world)
        self.pulse.sign_in()
        self.pulse.mind_the_clock()
        signals = self.world.database.signals
        self._deaf = [signals.listen(TOPIC, self._wake), signals.listen(timekeeping.CLOCK, self._clock_was_set)]
        self._spawn("pulse", self._beat)
        if self._lanes:
            self._spawn("chores", self._pump)
        for lane in self._lanes:
            for _ in range(lane.size):
                self._spawn_for(lane)

    def stop(self, grace: float = 10.0) -> None:
        """Finish the steps under way within ``grace`` seconds, hand back the rest, and sign out."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        for deafen in self._deaf:
            deafen()
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
        self.pulse.sign_out()

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

    def _spawn_for(self, lane: Lane) -> None:
        self._spawn(f"lane {lane.name}", lambda: self._serve(lane))

    # ---- hearing ----------------------------------------------------------------------------------------------------

    def _wake(self, topic: str) -> None:
        if self._paused:
            return  # who resumes wakes everybody
        name = topic.partition(":")[2]
        for lane in self._lanes:
            if name in ("", lane.name):
                lane.news.set()

    def _clock_was_set(self, _topic: str) -> None:
        if self._paused:
            return  # a conductor of this process moves it, and says so itself
        with suppress(*STORAGE):  # the next claim reads it anyway
            timekeeping.load(self.world)

    # ---- the threads of a lane --------------------------------------------------------------------------------------

    def _serve(self, lane: Lane) -> None:
        while (run := self._next(lane)) is not None:
            run.go(self._yielding)
            if run.taken:
                return  # it hung, and the pulse has given this seat to another thread
            self.let_go(run)
            # It may be due again soon, and its key may be free for work of any lane.
            self._wake(TOPIC if run.row.key is not None else f"{TOPIC}:{lane.name}")

    def _yielding(self) -> bool:
        """Whether work under way is to be put down at its next checkpoint."""
        return self._barred() or self.world.clock.setting.mode == "frozen"

    def _barred(self) -> bool:
        return self._paused > 0 or self._stopping.is_set()

    def _next(self, lane: Lane) -> Run | None:
        with lane.turn:
            while not self._stopping.is_set():
                lane.news.clear()
                run, patience = self._try(lane)
                if run is not None:
                    return run
                lane.news.wait(patience)
        return None

    def _try(self, lane: Lane) -> tuple[Run | None, float]:
        """A run of this lane, or how long there will be none unless somebody wakes us."""
        run: Run | None = None
        patience = self._poll
        if self._enter():
            try:
                run, patience = self.claim(lane)
            except STORAGE:
                self.metrics.add("unavailable")
            except Exception:
                log.exception("lane %s could not claim", lane.name)  # and must live to try again
            finally:
                if run is None:
                    self._leave()
        return run, patience

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

    def claim(self, lane: Lane | None = None) -> tuple[Run | None, float]:
        """The next operation, of one lane or, for a conductor, of any; or how many seconds there is none."""
        while True:
            if self._stopping.is_set():
                raise Unavailable
            try:
                with self.world.database.write() as db:
                    now = timekeeping.now(self.world, db)
                    if lane is not None and self.world.clock.setting.mode == "frozen":
                        return None, self._poll  # time stands: only a conductor moves things
                    name = lane.name if lane else None
                    row = queue.claim(db, self.pulse.id, now, name)
                    due = None if row or lane is None else queue.next_due(db, now, name)
                break
            except Clash:
                continue  # a race for a key was lost, and the index has said so
            except Unregistered:
                self.pulse.sign_in()
        if row is None:
            return None, self._poll if due is None else min(self._poll, (due - now) / SECOND)
        run = Run(self.world, self.book.find(row.kind, row.version), row, self.metrics)
        with self._gate:
            self._runs[run] = lane
        self.metrics.add("claimed")
        return run, 0.0

    def let_go(self, run: Run) -> Lane | None:
        """The thread that had claimed it is through with it. The lane whose seat is free now, if it had one."""
        with self._gate:
            lane = self._runs.pop(run, None)
            if lane is not None:
                self._busy -= 1
                self._gate.notify_all()
            return lane

    # ---- the other threads ------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        while not self._finished.wait(BEAT):
            try:
                self.pulse.beat(self._held())
                for run in tuple(self._runs):
                    if run.take_if_hung():
                        self._replace(run)
            except Exception:
                log.exception("the pulse stumbled")

    def _held(self) -> set[tuple[int, int]]:
        with self._gate:
            return {(run.row.id, run.row.epoch) for run in self._runs}

    def _replace(self, run: Run) -> None:
        """Give the seat of a thread that hangs to a new one."""
        lane = self.let_go(run)
        if lane is not None and not self._stopping.is_set():
            self._spawn_for(lane)

    def _pump(self) -> None:
        while not self._stopping.wait(self._poll):
            if not self._enter():
                continue
            try:
                if self.world.clock.setting.mode == "real":
                    chores.pump(self.world)
            except STORAGE:
                self.metrics.add("unavailable")
            except Exception:
                log.exception("the schedules stumbled")
            finally:
                self._leave()
