"""House time: it moves in order, does all that falls due on the way, and leaves the rest alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from crofter.clock import DAY, HOUR, SECOND, Setting, machine_now, parse, text
from crofter.context import Context
from crofter.db import Database
from crofter.engine import Operation, Sleep, Work, chores, enqueue, step, timekeeping, tx_step
from crofter.engine.conductor import Conductor
from crofter.engine.worker import Worker
from tests.engine.conftest import Bench
from tests.engine.deeds import Nothing, make_world

Benches = Callable[..., Bench]
seen: list[tuple[str, str]] = []


class Named(Struct, frozen=True):
    name: str


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


@tx_step()
def happen(ctx: Context, work: Work) -> None:
    seen.append((work.args.name, ctx.moment))


HAPPEN = Operation(kind="t.happen", args=Named, steps=(happen,))
START = "2026-11-15T12:00:00"


def at_noon(house: Bench) -> None:
    timekeeping.put(house.world, Setting("frozen", 0, parse(START)))


def put(house: Bench, name: str, after: float = 0, kind: Operation = HAPPEN, **how: Any) -> int:
    due = house.world.clock.now() + round(after * SECOND)
    found: int = house.write(lambda ctx: enqueue(ctx, kind, Named(name), due=due, **how))
    return found


def test_everything_happens_at_its_own_moment_and_in_order(bench: Benches) -> None:
    house = bench(HAPPEN)
    at_noon(house)
    put(house, "third", 90)
    put(house, "first")
    put(house, "second", 60)
    put(house, "never", 91)
    now, count = house.conductor.advance(90)
    assert seen == [
        ("first", "2026-11-15T12:00:00"),
        ("second", "2026-11-15T12:01:00"),
        ("third", "2026-11-15T12:01:30"),
    ]
    assert (text(now), count) == ("2026-11-15T12:01:30", 3)
    assert house.world.clock.setting.mode == "frozen"
    assert house.world.clock.now() == now


def test_what_happens_may_cause_more_to_happen_on_the_way(bench: Benches) -> None:
    @tx_step()
    def spread(ctx: Context, work: Work) -> None:
        seen.append(("spread", ctx.moment))
        enqueue(ctx, SPREAD, Nothing(), due=ctx.now + 10 * SECOND)

    SPREAD = Operation(kind="t.spread", args=Nothing, steps=(spread,))  # noqa: N806
    house = bench(SPREAD)
    at_noon(house)
    house.write(lambda ctx: enqueue(ctx, SPREAD, Nothing()))
    assert house.conductor.advance(30)[1] == 4
    assert [moment[-2:] for _, moment in seen] == ["00", "10", "20", "30"]


def test_a_running_clock_runs_on_from_where_it_was_moved_to(bench: Benches) -> None:
    house = bench(HAPPEN)
    before = house.world.clock.now()
    now, _ = house.conductor.advance(3600)
    assert now >= before + HOUR
    assert house.world.clock.setting.mode == "real"
    with house.world.database.read() as db:
        assert not timekeeping.held(db)
        assert timekeeping.now(house.world, db) >= now


def test_time_never_goes_back_however_short_the_advance(bench: Benches) -> None:
    house = bench(HAPPEN)
    moments = [house.world.clock.now()]
    for _ in range(5):
        moments.append(house.conductor.advance(0.001)[0])
        moments.append(house.world.clock.now())
    assert moments == sorted(moments)


def test_the_clock_that_all_share_is_not_ahead_of_that_of_its_machine(bench: Benches) -> None:
    house = bench(HAPPEN)
    with house.world.database.read() as db:
        assert [moment for moment in range(200) if timekeeping.machine(db) > machine_now()] == []


def test_settling_stops_when_nothing_is_under_way(bench: Benches) -> None:
    @step()
    def boot(work: Work) -> Sleep | None:
        work.vars["looks"] = work.vars.get("looks", 0) + 1
        return Sleep(2) if work.vars["looks"] <= 3 else None

    slow = Operation(kind="t.slow", args=Named, steps=(boot,))
    house = bench(slow, HAPPEN)
    at_noon(house)
    put(house, "boot", kind=slow, key="k")
    put(house, "behind it", key="k")
    put(house, "meanwhile", 3)
    put(house, "tomorrow", 86400)
    now, count = house.conductor.settle()
    assert (text(now), count) == ("2026-11-15T12:00:06", 3)
    assert [name for name, _ in seen] == ["meanwhile", "behind it"]
    assert house.conductor.settle() == (now, 0)


def test_settling_goes_no_further_than_its_limit(bench: Benches) -> None:
    @step()
    def for_ever(work: Work) -> Sleep:
        return Sleep(100)

    endless = Operation(kind="t.endless", args=Named, steps=(for_ever,))
    house = bench(endless)
    at_noon(house)
    put(house, "endless", kind=endless)
    now, count = house.conductor.settle(limit_seconds=250)
    assert (now - parse(START), count) == (200 * SECOND, 0)


def test_a_step_that_polls_without_waiting_does_not_hold_time_up(bench: Benches) -> None:
    @step()
    def poll(work: Work) -> Sleep | None:
        work.vars["looks"] = work.vars.get("looks", 0) + 1
        return Sleep(0) if work.vars["looks"] < 50 else None

    impatient = Operation(kind="t.impatient", args=Named, steps=(poll,))
    house = bench(impatient)
    at_noon(house)
    put(house, "poll", kind=impatient)
    assert house.conductor.settle() == (parse(START) + 49, 1)


def test_the_background_is_silent_while_time_is_moved(bench: Benches) -> None:
    threads: set[str] = set()

    @step()
    def where(work: Work) -> None:
        threads.add(threading.current_thread().name)

    kind = Operation(kind="t.where", args=Named, steps=(where,))
    house = bench(kind, lanes={"std": 3}, poll=0.01)
    for minutes in range(20):
        put(house, "x", 60 * (minutes + 1), kind=kind)
    assert house.conductor.advance(1200)[1] == 20
    assert threads == {"conductor"}


def test_a_month_goes_by(bench: Benches) -> None:
    """31 days of daily backups, an invoice on the first, a transfer that expires: each once, at its own hour."""
    house = bench(HAPPEN)
    at_noon(house)

    def plan(ctx: Context) -> None:
        for number in range(4):
            rule = f"daily {5 + number:02}:30"
            chores.plan(ctx, f"backup:{number}", HAPPEN, Named(f"backup {number}"), rule, key=f"instance:{number}")
        chores.plan(ctx, "invoice", HAPPEN, Named("invoice"), "monthly", catchup="all")

    house.write(plan)
    put(house, "expiry", 86400, dedup="transfer.expire:1")
    house.conductor.advance(86399)
    assert "expiry" not in {name for name, _ in seen}
    house.conductor.advance(1)
    assert ("expiry", "2026-11-16T12:00:00") in seen
    now, _ = house.conductor.advance(30 * 86400)
    assert now == parse(START) + 31 * DAY
    for number in range(4):
        times = [moment for name, moment in seen if name == f"backup {number}"]
        assert len(times) == len(set(times)) == 31
        assert {moment[11:] for moment in times} == {f"{5 + number:02}:30:00"}
    assert [moment for name, moment in seen if name == "invoice"] == ["2026-12-01T00:00:00"]
    assert [moment for _, moment in seen] == sorted(moment for _, moment in seen)


def test_the_setting_outlives_the_process(bench: Benches, database: Database) -> None:
    house = bench(HAPPEN)
    at_noon(house)
    house.conductor.advance(100)
    house.worker.stop()
    after = make_world(database)
    worker = Worker(after, (), {})
    worker.start()
    assert text(after.clock.now()) == "2026-11-15T12:01:40"
    Conductor(worker).thaw()
    assert after.clock.setting.mode == "real"
    assert after.clock.now() - parse(START) >= 100 * SECOND
    worker.stop()


def test_the_house_can_be_rearranged_while_all_stands_still(bench: Benches) -> None:
    """As the sandbox's reset does: even the workers' own rows and the clock may go."""
    house = bench(HAPPEN, lanes={"std": 2}, poll=0.01)
    house.conductor.advance(1000)
    with house.conductor.standstill():
        house.write(lambda ctx: [ctx.db.raw(f"DELETE FROM {name}") for name in ("operation", "worker", "meta")])
        timekeeping.load(house.world)
    assert house.world.clock.setting == Setting()
    put(house, "after", 5)
    house.conductor.advance(5)
    assert [name for name, _ in seen] == ["after"]


def test_a_short_way_is_stopped_on_for_all_that_is_scheduled(bench: Benches) -> None:
    house = bench(HAPPEN)
    at_noon(house)
    house.write(lambda ctx: chores.plan(ctx, "look", HAPPEN, Named("look"), "every 60", catchup="none"))
    house.conductor.advance(3600)
    assert seen == [("look", text(parse(START) + minute * 60 * SECOND)) for minute in range(1, 61)]


def test_a_long_way_is_stopped_on_for_what_may_be_missed_only_where_something_has_happened(bench: Benches) -> None:
    house = bench(HAPPEN)
    at_noon(house)
    house.write(lambda ctx: chores.plan(ctx, "look", HAPPEN, Named("look"), "every 60", catchup="none"))
    house.write(lambda ctx: chores.plan(ctx, "clean", HAPPEN, Named("clean"), "daily 06:00"))
    put(house, "news", 36 * 3600 + 30)
    house.conductor.advance(2 * 86400 + 45)
    assert seen == [
        ("look", "2026-11-15T12:01:00"),
        ("clean", "2026-11-16T06:00:00"),
        ("news", "2026-11-17T00:00:30"),
        ("look", "2026-11-17T00:00:30"),
        ("look", "2026-11-17T00:01:00"),
        ("clean", "2026-11-17T06:00:00"),
        ("look", "2026-11-17T12:00:45"),
    ]
    seen.clear()
    house.conductor.advance(15)
    assert seen == [("look", "2026-11-17T12:01:00")]
