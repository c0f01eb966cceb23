"""Schedules: when an occurrence falls, which missed ones are made up for, and that each is made once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest
from msgspec import Struct

from crofter.clock import DAY, HOUR, MINUTE, SECOND, Setting, parse, text
from crofter.context import Context, Runtime
from crofter.db import Database
from crofter.engine import Operation, Schedule, StepContext, schedules, timekeeping, tx_step
from crofter.engine.schedules import following, occurrences
from tests.engine.conftest import EngineHarness
from tests.engine.storms import until
from tests.engine.traced_operations import make_runtime

HarnessFactory = Callable[..., EngineHarness]
NOON = parse("2026-11-15T12:00:00")
ran: list[str] = []


class Named(Struct, frozen=True):
    name: str = "x"


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tx_step()
def note(ctx: Context, work: StepContext) -> None:
    ran.append(f"{work.args.name} of {text(work.vars['occurrence'])}")


NOTE = Operation(kind="t.note", args=Named, steps=(note,))


def at(application: EngineHarness, moment: int) -> None:
    timekeeping.put(application.runtime, Setting("frozen", 0, moment))


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        ("every 60", "2026-11-15T12:00:00", "2026-11-15T12:01:00"),
        ("daily 12:00", "2026-11-15T11:59:59", "2026-11-15T12:00:00"),
        ("daily 12:00", "2026-11-15T12:00:00", "2026-11-16T12:00:00"),
        ("daily 02:30", "2026-12-31T23:00:00", "2027-01-01T02:30:00"),
        ("daily 00:00", "2028-02-28T12:00:00", "2028-02-29T00:00:00"),
        ("monthly", "2026-11-15T12:00:00", "2026-12-01T00:00:00"),
        ("monthly", "2026-12-01T00:00:00", "2027-01-01T00:00:00"),
        ("monthly", "2027-01-31T23:59:59", "2027-02-01T00:00:00"),
    ],
)
def test_the_next_occurrence(rule: str, after: str, expected: str) -> None:
    assert text(following(rule, parse(after))) == expected


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no such rule"):
        following("sometimes", NOON)


def test_which_missed_occurrences_are_made_up_for() -> None:
    now = NOON + 3 * HOUR + 30 * MINUTE
    hours = [NOON + number * HOUR for number in range(4)]
    assert occurrences("every 3600", NOON, now, "all") == (hours, NOON + 4 * HOUR)
    assert occurrences("every 3600", NOON, now, "last") == (hours[-1:], NOON + 4 * HOUR)
    assert occurrences("every 3600", NOON, now, "none") == ([], NOON + 4 * HOUR)
    assert occurrences("every 3600", NOON, hours[3] + SECOND, "none") == (hours[-1:], NOON + 4 * HOUR)
    assert occurrences("every 3600", NOON + HOUR, NOON, "all") == ([], NOON + HOUR)


@pytest.mark.parametrize(("catchup", "made"), [("all", 3), ("last", 1), ("none", 0)])
def test_a_service_that_was_down_catches_up(harness: HarnessFactory, catchup: schedules.Catchup, made: int) -> None:
    application = harness(NOTE)
    at(application, NOON)
    application.write(lambda ctx: schedules.add(ctx, "n", NOTE, Named(), "daily 06:00", catchup=catchup))
    at(application, NOON + 3 * DAY)
    assert application.time_travel.drain() == made
    assert ran == [f"x of 2026-11-{day}T06:00:00" for day in (16, 17, 18)][3 - made :]


def test_pumping_from_many_sides_makes_each_occurrence_once(harness: HarnessFactory, database: Database) -> None:
    application = harness(NOTE)
    at(application, NOON)
    for number in range(8):
        schedule = Schedule(f"n{number}", NOTE, "every 60", Named(), "all")
        application.write(partial(schedules.ensure, schedules=[schedule]))
    at(application, NOON + 10 * MINUTE)
    runtimes = [make_runtime(database) for _ in range(4)]
    for runtime in runtimes:
        runtime.operations = application.worker.operations
        runtime.clock.setting = application.runtime.clock.setting
    made: list[int] = []

    def pump(runtime: Runtime) -> None:
        made.append(schedules.enqueue_due(runtime))

    threads = [threading.Thread(target=pump, args=(runtime,)) for runtime in runtimes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(made) == len(application.states()) == 80


def test_without_moving_the_schedule_in_the_same_transaction_dedup_still_holds(harness: HarnessFactory) -> None:
    application = harness(NOTE)
    at(application, NOON)
    application.write(lambda ctx: schedules.add(ctx, "n", NOTE, Named(), "every 60"))
    at(application, NOON + MINUTE)
    assert schedules.enqueue_due(application.runtime) == 1
    application.write(lambda ctx: ctx.db.raw(f"UPDATE schedule SET next_due = {NOON + MINUTE}"))
    assert schedules.enqueue_due(application.runtime) == 0
    assert len(application.states()) == 1


def test_a_changed_rule_starts_afresh_and_an_unchanged_one_keeps_its_time(harness: HarnessFactory) -> None:
    application = harness(NOTE)
    at(application, NOON)
    application.write(lambda ctx: schedules.ensure(ctx, [Schedule("n", NOTE, "every 3600", Named("old"))]))
    at(application, NOON + 30 * MINUTE)
    application.write(lambda ctx: schedules.ensure(ctx, [Schedule("n", NOTE, "every 3600", Named("new"))]))
    application.time_travel.advance(30 * 60)
    assert ran == ["new of 2026-11-15T13:00:00"]
    application.write(lambda ctx: schedules.ensure(ctx, [Schedule("n", NOTE, "daily 20:00", Named("daily"))]))
    application.time_travel.advance(8 * 3600)
    assert ran[1:] == ["daily of 2026-11-15T20:00:00"]
    assert application.write(lambda ctx: schedules.remove(ctx, "n"))
    assert application.time_travel.advance(2 * 86400)[1] == 0


def test_a_schedule_waits_its_turn_on_its_key_or_gives_way(harness: HarnessFactory) -> None:
    shy = Operation(kind="t.shy", args=Named, steps=(note,), admission="reject")
    application = harness(NOTE, shy)
    at(application, NOON)
    application.write(lambda ctx: schedules.add(ctx, "a", NOTE, Named("a"), "every 60", key="k"))
    application.write(lambda ctx: schedules.add(ctx, "b", shy, Named("b"), "every 60", key="k"))
    application.time_travel.advance(60)
    assert ran == ["a of 2026-11-15T12:01:00"]


def test_chores_run_by_themselves_while_the_clock_runs(harness: HarnessFactory) -> None:
    application = harness(NOTE, pool_sizes={"std": 1}, poll=0.02)
    application.write(lambda ctx: schedules.add(ctx, "n", NOTE, Named(), "every 0.05"))
    until(lambda: len(ran) >= 2, "two occurrences")
