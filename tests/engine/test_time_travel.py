"""Service time: it moves in order, does all that falls due on the way, and leaves the rest alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from crofter.clock import DAY, HOUR, SECOND, Setting, machine_now, parse, text
from crofter.context import Context
from crofter.db import Database
from crofter.engine import Operation, Sleep, StepContext, enqueue, queue, schedules, step, timekeeping, tx_step
from crofter.engine.time_travel import TimeTravel
from crofter.engine.worker import Worker
from tests.engine.conftest import EngineHarness
from tests.engine.traced_operations import Nothing, make_runtime

HarnessFactory = Callable[..., EngineHarness]
seen: list[tuple[str, str]] = []


class Named(Struct, frozen=True):
    name: str


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


@tx_step()
def happen(ctx: Context, work: StepContext) -> None:
    seen.append((work.args.name, ctx.moment))


HAPPEN = Operation(kind="t.happen", args=Named, steps=(happen,))
START = "2026-11-15T12:00:00"


def at_noon(application: EngineHarness) -> None:
    timekeeping.put(application.runtime, Setting("frozen", 0, parse(START)))


def put(application: EngineHarness, name: str, after: float = 0, kind: Operation = HAPPEN, **how: Any) -> int:
    due = application.runtime.clock.now() + round(after * SECOND)
    operation_id: int = application.write(lambda ctx: enqueue(ctx, kind, Named(name), due=due, **how))
    return operation_id


def test_everything_happens_at_its_own_moment_and_in_order(harness: HarnessFactory) -> None:
    application = harness(HAPPEN)
    at_noon(application)
    put(application, "third", 90)
    put(application, "first")
    put(application, "second", 60)
    put(application, "never", 91)
    now, count = application.time_travel.advance(90)
    assert seen == [
        ("first", "2026-11-15T12:00:00"),
        ("second", "2026-11-15T12:01:00"),
        ("third", "2026-11-15T12:01:30"),
    ]
    assert (text(now), count) == ("2026-11-15T12:01:30", 3)
    assert application.runtime.clock.setting.mode == "frozen"
    assert application.runtime.clock.now() == now


def test_what_happens_may_cause_more_to_happen_on_the_way(harness: HarnessFactory) -> None:
    @tx_step()
    def spread(ctx: Context, work: StepContext) -> None:
        seen.append(("spread", ctx.moment))
        enqueue(ctx, SPREAD, Nothing(), due=ctx.now + 10 * SECOND)

    SPREAD = Operation(kind="t.spread", args=Nothing, steps=(spread,))  # noqa: N806
    application = harness(SPREAD)
    at_noon(application)
    application.write(lambda ctx: enqueue(ctx, SPREAD, Nothing()))
    assert application.time_travel.advance(30)[1] == 4
    assert [moment[-2:] for _, moment in seen] == ["00", "10", "20", "30"]


def test_a_running_clock_runs_on_from_where_it_was_moved_to(harness: HarnessFactory) -> None:
    application = harness(HAPPEN)
    before = application.runtime.clock.now()
    now, _ = application.time_travel.advance(3600)
    assert now >= before + HOUR
    assert application.runtime.clock.setting.mode == "real"
    with application.runtime.database.read() as db:
        assert not timekeeping.held(db)
        assert timekeeping.now(application.runtime, db) >= now


def test_time_never_goes_back_however_short_the_advance(harness: HarnessFactory) -> None:
    application = harness(HAPPEN)
    moments = [application.runtime.clock.now()]
    for _ in range(5):
        moments.append(application.time_travel.advance(0.001)[0])
        moments.append(application.runtime.clock.now())
    assert moments == sorted(moments)


def test_the_clock_that_all_share_is_not_ahead_of_that_of_its_machine(harness: HarnessFactory) -> None:
    application = harness(HAPPEN)
    with application.runtime.database.read() as db:
        assert [moment for moment in range(200) if timekeeping.machine(db) > machine_now()] == []


def test_settling_stops_when_nothing_is_under_way(harness: HarnessFactory) -> None:
    @step()
    def boot(work: StepContext) -> Sleep | None:
        work.vars["looks"] = work.vars.get("looks", 0) + 1
        return Sleep(2) if work.vars["looks"] <= 3 else None

    slow = Operation(kind="t.slow", args=Named, steps=(boot,))
    application = harness(slow, HAPPEN)
    at_noon(application)
    put(application, "boot", kind=slow, key="k")
    put(application, "behind it", key="k")
    put(application, "meanwhile", 3)
    put(application, "tomorrow", 86400)
    now, count = application.time_travel.settle()
    assert (text(now), count) == ("2026-11-15T12:00:06", 3)
    assert [name for name, _ in seen] == ["meanwhile", "behind it"]
    assert application.time_travel.settle() == (now, 0)


def test_settling_goes_no_further_than_its_limit(harness: HarnessFactory) -> None:
    @step()
    def for_ever(work: StepContext) -> Sleep:
        return Sleep(100)

    endless = Operation(kind="t.endless", args=Named, steps=(for_ever,))
    application = harness(endless)
    at_noon(application)
    put(application, "endless", kind=endless)
    now, count = application.time_travel.settle(limit_seconds=250)
    assert (now - parse(START), count) == (200 * SECOND, 0)


def test_a_step_that_polls_without_waiting_does_not_hold_time_up(harness: HarnessFactory) -> None:
    @step()
    def poll(work: StepContext) -> Sleep | None:
        work.vars["looks"] = work.vars.get("looks", 0) + 1
        return Sleep(0) if work.vars["looks"] < 50 else None

    impatient = Operation(kind="t.impatient", args=Named, steps=(poll,))
    application = harness(impatient)
    at_noon(application)
    put(application, "poll", kind=impatient)
    assert application.time_travel.settle() == (parse(START) + 49, 1)


def test_the_background_is_silent_while_time_is_moved(harness: HarnessFactory) -> None:
    threads: set[str] = set()

    @step()
    def where(work: StepContext) -> None:
        threads.add(threading.current_thread().name)

    kind = Operation(kind="t.where", args=Named, steps=(where,))
    application = harness(kind, pool_sizes={"std": 3}, poll=0.01)
    for minutes in range(20):
        put(application, "x", 60 * (minutes + 1), kind=kind)
    assert application.time_travel.advance(1200)[1] == 20
    assert threads == {"time-travel"}


def test_a_month_goes_by(harness: HarnessFactory) -> None:
    """31 days of daily backups, an invoice on the first, a transfer that expires: each once, at its own hour."""
    application = harness(HAPPEN)
    at_noon(application)

    def plan(ctx: Context) -> None:
        for number in range(4):
            rule = f"daily {5 + number:02}:30"
            schedules.add(ctx, f"backup:{number}", HAPPEN, Named(f"backup {number}"), rule, key=f"instance:{number}")
        schedules.add(ctx, "invoice", HAPPEN, Named("invoice"), "monthly", catchup="all")

    application.write(plan)
    put(application, "expiry", 86400, dedup="transfer.expire:1")
    application.time_travel.advance(86399)
    assert "expiry" not in {name for name, _ in seen}
    application.time_travel.advance(1)
    assert ("expiry", "2026-11-16T12:00:00") in seen
    now, _ = application.time_travel.advance(30 * 86400)
    assert now == parse(START) + 31 * DAY
    for number in range(4):
        times = [moment for name, moment in seen if name == f"backup {number}"]
        assert len(times) == len(set(times)) == 31
        assert {moment[11:] for moment in times} == {f"{5 + number:02}:30:00"}
    assert [moment for name, moment in seen if name == "invoice"] == ["2026-12-01T00:00:00"]
    assert [moment for _, moment in seen] == sorted(moment for _, moment in seen)


def test_the_setting_outlives_the_process(harness: HarnessFactory, database: Database) -> None:
    application = harness(HAPPEN)
    at_noon(application)
    application.time_travel.advance(100)
    application.worker.stop()
    after = make_runtime(database)
    worker = Worker(after, (), {})
    worker.start()
    assert text(after.clock.now()) == "2026-11-15T12:01:40"
    TimeTravel(worker).thaw()
    assert after.clock.setting.mode == "real"
    assert after.clock.now() - parse(START) >= 100 * SECOND
    worker.stop()


def test_the_service_can_be_rearranged_while_all_stands_still(harness: HarnessFactory) -> None:
    """Rearrange like the sandbox's reset, which may delete the workers' rows and the clock."""
    application = harness(HAPPEN, pool_sizes={"std": 2}, poll=0.01)
    application.time_travel.advance(1000)
    with application.time_travel.standstill():
        application.write(lambda ctx: [ctx.db.raw(f"DELETE FROM {name}") for name in ("operation", "worker", "meta")])
        application.write(lambda ctx: timekeeping.begin(application.runtime, ctx.db))
    assert application.runtime.clock.setting == Setting()
    put(application, "after", 5)
    application.time_travel.advance(5)
    assert [name for name, _ in seen] == ["after"]


def test_a_short_way_is_stopped_on_for_all_that_is_scheduled(harness: HarnessFactory) -> None:
    application = harness(HAPPEN)
    at_noon(application)
    application.write(lambda ctx: schedules.add(ctx, "look", HAPPEN, Named("look"), "every 60", catchup="none"))
    application.time_travel.advance(3600)
    assert seen == [("look", text(parse(START) + minute * 60 * SECOND)) for minute in range(1, 61)]


def test_a_long_way_is_stopped_on_for_what_may_be_missed_only_where_something_has_happened(
    harness: HarnessFactory,
) -> None:
    application = harness(HAPPEN)
    at_noon(application)
    application.write(lambda ctx: schedules.add(ctx, "look", HAPPEN, Named("look"), "every 60", catchup="none"))
    application.write(lambda ctx: schedules.add(ctx, "clean", HAPPEN, Named("clean"), "daily 06:00"))
    put(application, "news", 36 * 3600 + 30)
    application.time_travel.advance(2 * 86400 + 45)
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
    application.time_travel.advance(15)
    assert seen == [("look", "2026-11-17T12:01:00")]


class RealWork:
    """Something outside that is done after some looks, however little service time passes."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.moments: list[int] = []

    @property
    def operation(self) -> Operation:
        @step()
        def wait(work: StepContext) -> Sleep | None:
            self.moments.append(work.runtime.clock.now())
            return Sleep(5, real_time=True) if len(self.moments) < self.looks else None

        return Operation(kind="t.real", args=Nothing, steps=(wait,))


def test_work_in_real_time_goes_on_while_the_clock_stands(harness: HarnessFactory) -> None:
    real = RealWork(4)
    application = harness(real.operation, pool_sizes={"std": 1}, poll=0.05)
    application.worker.stands_with_clock = False
    at_noon(application)
    application.write(lambda ctx: enqueue(ctx, real.operation, Nothing()))
    deadline = machine_now() + 20 * SECOND
    while application.states() != ["done"]:
        assert machine_now() < deadline, application.states()
        threading.Event().wait(0.02)
    assert real.moments == [parse(START)] * 4


def test_settling_waits_for_work_in_real_time_and_spends_no_service_time_on_it(harness: HarnessFactory) -> None:
    real = RealWork(4)
    application = harness(real.operation)
    at_noon(application)
    application.write(lambda ctx: enqueue(ctx, real.operation, Nothing()))
    assert application.time_travel.settle(60) == (parse(START), 1)
    assert application.states() == ["done"]


@pytest.mark.parametrize("mode", ["frozen", "real"])
def test_a_traveller_is_alone_whatever_the_clock_did_before(harness: HarnessFactory, mode: str) -> None:
    """Also where real machines go on working while time stands, and what they need is taken up."""
    application = harness(HAPPEN)
    other = harness(HAPPEN, pool_sizes={"std": 1}, poll=0.02)
    other.worker.stands_with_clock = False
    if mode == "frozen":
        at_noon(application)
    with application.time_travel.standstill():
        put(application, "awaited")
        for pool in other.worker._pools:
            assert other.worker.claim(pool)[0] is None
        assert application.states() == ["queued"]
    assert application.runtime.clock.setting.mode == mode
    deadline = machine_now() + 20 * SECOND
    while application.states() != ["done"]:
        assert machine_now() < deadline, application.states()
        threading.Event().wait(0.02)


def test_a_traveller_waits_for_a_claim_that_has_read_the_clock_before(
    harness: HarnessFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start claims in another process that either belong to the time before the advance or are not made."""
    application, other = harness(HAPPEN), harness(HAPPEN, pool_sizes={"std": 1})
    has_read, goes_on, stands = threading.Event(), threading.Event(), threading.Event()
    claimed: list[Any] = []
    claim = queue.claim

    def claim_late(*arguments: Any) -> Any:
        if threading.current_thread() is claiming:
            has_read.set()
            assert goes_on.wait(60)
        return claim(*arguments)

    def travel() -> None:
        with application.time_travel.standstill():
            put(application, "awaited")
            stands.set()

    claiming = threading.Thread(target=lambda: claimed.append(other.worker.claim(*other.worker._pools)[0]))
    travelling = threading.Thread(target=travel)
    monkeypatch.setattr(queue, "claim", claim_late)
    claiming.start()
    assert has_read.wait(60)
    travelling.start()
    stood_meanwhile = stands.wait(1)
    goes_on.set()
    claiming.join(60)
    travelling.join(60)
    assert (claimed, stood_meanwhile, stands.is_set()) == ([None], False, True)


def test_a_clock_that_was_read_before_it_was_first_set_is_not_taken_for_a_newer_one(harness: HarnessFactory) -> None:
    """Suspend a thread that read an unset clock until another thread has set the clock."""
    application = harness(HAPPEN)
    runtime = application.runtime
    at_noon(application)
    timekeeping._adopt(runtime, None)
    assert runtime.clock.setting.mode == "frozen"
