"""Operations that leave traces, and worker processes that may be killed while they do them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from crofter.clock import Clock
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.db import Database, Id, open_database
from crofter.db.sql import Column, Integer, MetaData, Text
from crofter.db.tables import DeferredTable
from crofter.engine import Operation, Sleep, StepContext, TimeTravel, Worker, enqueue, step, tx_step
from crofter.keyring import Keyring
from crofter.kinds import Kinds
from crofter.rng import Rng

_COLUMNS = (Column("op", Id), Column("step", Text), Column("pid", Integer))
effect: Any = DeferredTable("effect", _COLUMNS, {}, MetaData())  # not a table of the server


class Nothing(Struct, frozen=True):
    pass


class Trace:
    """A file that processes add lines to, each in one write, so that a kill tears none apart."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, word: str, op: int, step: str, key: str | None) -> None:
        line = f"{word} {op} {step} {os.getpid()} {key or '-'} {time.monotonic_ns()}\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(handle, line.encode())
        os.close(handle)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def count(self, word: str, pid: int | None = None) -> int:
        return sum(line[0] == word and (pid is None or int(line[3]) == pid) for line in self.lines())


class TracedRuntime(Runtime):
    """A runtime whose steps leave lines in a file."""

    def __init__(self, trace: Path | None, *parts: Any) -> None:
        super().__init__(*parts)
        self.trace = Trace(trace or Path(os.devnull))


def trace_of(runtime: Runtime) -> Trace:
    assert isinstance(runtime, TracedRuntime)
    return runtime.trace


def make_runtime(database: Database, trace: Path | None = None) -> Runtime:
    rng = Rng(7)
    return TracedRuntime(trace, Settings(), database, Clock(), rng, Keyring(bytes(32), rng), Kinds((), lambda *_: True))


def leave(ctx: Context, work: StepContext, name: str) -> None:
    ctx.db.insert(effect, op=work.id, step=name, pid=os.getpid())


def act(work: StepContext, seconds: float) -> None:
    """Something outside the database, of some length."""
    trace = trace_of(work.runtime)
    trace.add("begin", work.id, work.step.name, work.key)
    time.sleep(seconds)
    trace.add("end", work.id, work.step.name, work.key)


@tx_step()
def first(ctx: Context, work: StepContext) -> None:
    leave(ctx, work, "first")


@step()
def reach_out(work: StepContext) -> None:
    act(work, 0.004)


@tx_step()
def note(ctx: Context, work: StepContext) -> None:
    leave(ctx, work, "note")


@step()
def reach_again(work: StepContext) -> None:
    act(work, 0.004)
    work.then(lambda ctx: leave(ctx, work, "reach_again"))


@tx_step()
def last(ctx: Context, work: StepContext) -> None:
    leave(ctx, work, "last")


FIVE = Operation(kind="test.five", args=Nothing, steps=(first, reach_out, note, reach_again, last))
EFFECTS = ("first", "note", "reach_again", "last")
OUTSIDE = ("reach_out", "reach_again")


@step()
def touch(work: StepContext) -> None:
    act(work, 0.002)


HOT = Operation(kind="test.hot", args=Nothing, steps=(touch,))


@step(deadline=600)
def hold_on(work: StepContext) -> Sleep | None:
    """Block the first holder until released; later holders pass."""
    trace = trace_of(work.runtime)
    trace.add("holding", work.id, "hold_on", work.key)
    while work.epoch == 1 and not trace.path.with_suffix(".gate").exists():
        time.sleep(0.01)
    return None


HOLD = Operation(kind="test.hold", args=Nothing, steps=(hold_on, last))


@step()
def die(work: StepContext) -> None:
    os.kill(os.getpid(), 9)


DEADLY = Operation(kind="test.deadly", args=Nothing, steps=(die,))

OPERATIONS = (FIVE, HOT, HOLD, DEADLY)


def open_at(address: str) -> Database:
    """PostgreSQL at an address, or SQLite in a folder."""
    return open_database(address, None) if "://" in address else open_database(None, Path(address))


def work_until_killed(
    address: str, trace: Path, *, threads: int = 4, lease: float = 15.0, defect: str | None = None, cap: int = 10
) -> None:
    """The life of a worker process. Says ``up`` when it works, ``fenced`` and ``ended`` as that happens."""
    from crofter.engine import runner
    from tests.engine.defects import plant

    runner.CRASH_CAP = cap
    database = open_at(address)
    if defect:
        plant(defect, database)
    database.signals.start()
    runtime = make_runtime(database, trace)
    worker = Worker(runtime, OPERATIONS, {"std": threads}, lease=lease, poll=0.1)
    worker.start()
    reported_counts = {"fenced": 0, "done": 0, "failed": 0}
    trace_of(runtime).add("up", 0, "-", None)
    while True:
        time.sleep(0.02)
        for word, amount in reported_counts.items():
            if worker.metrics[word] > amount:
                reported_counts[word] = worker.metrics[word]
                trace_of(runtime).add(word, reported_counts[word], "-", None)


def request_killed(address: str, moment: str) -> None:
    """A request that writes a row and queues an operation, and dies before or after its commit."""
    database = open_at(address)
    runtime = make_runtime(database)
    with database.write() as db:
        db.insert(effect, op=0, step="request", pid=os.getpid())
        enqueue(Context(runtime, db), FIVE, Nothing(), key="k")
        if moment == "before":
            os.kill(os.getpid(), 9)
    os.kill(os.getpid(), 9)


def travel(address: str) -> None:
    """Advance through all work due within a minute, including fatal steps."""
    database = open_at(address)
    worker = Worker(make_runtime(database), OPERATIONS, {})
    worker.start()
    TimeTravel(worker).advance(60)
