"""A commit whose answer never comes: it may have happened, not have happened, or be about to happen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crofter.context import Context, Runtime
from crofter.db import Database, Session, query
from crofter.db.sql import bindparam, func, select
from crofter.engine import Operation, Sleep, StepContext, enqueue, queue, tx_step
from crofter.errors import Unavailable
from tests.engine import defects
from tests.engine.conftest import EngineHarness
from tests.engine.traced_operations import Nothing, effect, leave

Landing = Callable[[], None]
Fate = Callable[[Any], Landing | None]
"""Function that applies a commit immediately, or returns one that is applied after a lookup."""
HarnessFactory = Callable[..., EngineHarness]


def forgotten(transaction: Any) -> None:
    """The commit never reached the database."""
    transaction.__exit__(Unavailable, Unavailable(), None)


def unheard(transaction: Any) -> None:
    """Commit and lose the response."""
    transaction.__exit__(None, None, None)


_LANDINGS: list[threading.Timer] = []


def late(transaction: Any) -> Landing:
    """Lose the response and commit only after the client has looked in vain."""
    timer = threading.Timer(0.15, transaction.__exit__, (None, None, None))
    _LANDINGS.append(timer)
    return timer.start


class Faulty:
    """A real database behind a line that breaks at the commit of a step's transaction, once."""

    def __init__(self, database: Database, fate: Fate) -> None:
        self._database = database
        self._fate = fate
        self.armed = self._used = False
        self._landing: tuple[int, Landing] | None = None
        """The thread whose commit has yet to happen, and how it does."""

    def arm_once(self) -> None:
        self.armed, self._used = not self._used, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @contextmanager
    def write(self) -> Iterator[Session]:
        transaction = self._database.write()
        session = transaction.__enter__()
        try:
            yield session
        except BaseException as error:
            transaction.__exit__(type(error), error, error.__traceback__)
            raise
        if not self.armed:
            transaction.__exit__(None, None, None)
            return
        self.armed = False
        landing = None
        try:
            landing = self._fate(transaction)
        except Unavailable:
            pass
        self._landing = landing and (threading.get_ident(), landing)
        raise Unavailable

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._database.read() as session:
            yield session
        if self._landing and self._landing[0] == threading.get_ident():
            (_, land), self._landing = self._landing, None
            land()


_EFFECTS = query(select(func.count()).select_from(effect).where(effect.c.step == bindparam("step")))


def run_with(
    fate: Fate, runtime: Runtime, harness: HarnessFactory, kind: Callable[[Faulty], Operation]
) -> EngineHarness:
    faulty = Faulty(runtime.database, fate)
    runtime.database = faulty
    operation = kind(faulty)
    application = harness(operation)
    application.write(lambda ctx: ctx.db.raw("CREATE TABLE IF NOT EXISTS effect (op BIGINT, step TEXT, pid INT)"))
    application.write(lambda ctx: enqueue(ctx, operation, Nothing(), key="k"))
    application.time_travel.settle()
    while _LANDINGS:  # commits that land after all other work
        _LANDINGS.pop().join(10)
    assert not faulty.armed
    return application


def effects(application: EngineHarness, name: str) -> int:
    with application.runtime.database.read() as db:
        return int(db.value(_EFFECTS, step=name))


def two_steps(faulty: Faulty) -> Operation:
    @tx_step()
    def first(ctx: Context, work: StepContext) -> None:
        leave(ctx, work, "first")
        faulty.arm_once()

    @tx_step()
    def second(ctx: Context, work: StepContext) -> None:
        leave(ctx, work, "second")

    return Operation(kind="t.two", args=Nothing, steps=(first, second))


def sleeper(faulty: Faulty) -> Operation:
    @tx_step()
    def sleep_once(ctx: Context, work: StepContext) -> Sleep | None:
        leave(ctx, work, "sleep_once")
        if work.vars.get("slept"):
            return None
        work.vars["slept"] = True
        faulty.arm_once()
        return Sleep(5)

    return Operation(kind="t.sleeper", args=Nothing, steps=(sleep_once,))


def one_step(faulty: Faulty) -> Operation:
    @tx_step()
    def only(ctx: Context, work: StepContext) -> None:
        leave(ctx, work, "only")
        faulty.arm_once()

    return Operation(kind="t.one", args=Nothing, steps=(only,), keep=False)


@pytest.mark.parametrize("fate", [forgotten, unheard, late])
def test_a_step_whose_commit_is_in_doubt_takes_effect_once(
    runtime: Runtime, harness: HarnessFactory, fate: Fate
) -> None:
    application = run_with(fate, runtime, harness, two_steps)
    assert (effects(application, "first"), effects(application, "second")) == (1, 1)
    assert application.states() == ["done"]
    assert application.worker.metrics["unavailable"] >= 1


@pytest.mark.parametrize("fate", [forgotten, unheard, late])
def test_a_sleep_whose_commit_is_in_doubt_is_slept_once(runtime: Runtime, harness: HarnessFactory, fate: Fate) -> None:
    application = run_with(fate, runtime, harness, sleeper)
    assert effects(application, "sleep_once") == 2
    assert application.states() == ["done"]


@pytest.mark.parametrize("fate", [forgotten, unheard, late])
def test_an_end_in_doubt_of_an_operation_that_leaves_no_row(
    runtime: Runtime, harness: HarnessFactory, fate: Fate
) -> None:
    application = run_with(fate, runtime, harness, one_step)
    assert effects(application, "only") == 1
    assert application.states() == []


def test_without_the_cursor_in_the_fence_a_late_commit_counts_twice(
    runtime: Runtime, harness: HarnessFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "FENCE", queue.FENCE)  # restored afterwards
    defects.no_cursor_in_fence(runtime.database)
    assert effects(run_with(late, runtime, harness, two_steps), "first") == 2
