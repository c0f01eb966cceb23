"""Guarantees for steps: execution, stored variables, and failures."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec import Struct

from crofter import events
from crofter.context import Actor, Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, step, tx_step
from crofter.engine.endings import NEUTRAL
from crofter.events import Author
from tests.engine.conftest import EngineHarness


class Named(Struct, frozen=True):
    name: str = "x"
    secret: str | None = None


_EVENT = query(
    select(events.event.c.status, events.event.c.percent, events.event.c.message, events.event.c.finished).where(
        events.event.c.id == bindparam("id")
    ),
    lambda *columns: columns,
)


def event(harness: EngineHarness, event_id: int) -> tuple[Any, ...]:
    with harness.runtime.database.read() as db:
        return db.one(_EVENT, id=event_id)


def start(harness: EngineHarness, kind: Operation, actor: Actor, args: Named | None = None) -> tuple[int, int]:
    """Queue an operation with an event, as a request does."""

    def write(ctx: Context) -> tuple[int, int]:
        author = Author(actor.account_id, actor.user_id, actor.username)
        event_id = events.write(ctx.db, ctx.now, author, "test", "scheduled")
        op_id = enqueue(ctx, kind, args or Named(), key="k", event_id=event_id)
        assert op_id is not None
        return op_id, event_id

    ids: tuple[int, int] = harness.write(write, actor)
    return ids


def test_steps_run_in_order_and_the_event_follows(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    seen: list[Any] = []

    @step(weight=30)
    def fetch(work: StepContext) -> None:
        seen.append((work.token, work.args.name, work.actor.username if work.actor else None))
        seen.append(event(application, event_id)[:2])
        work.vars["fetched"] = 1

    @tx_step(weight=10)
    def write(ctx: Context, work: StepContext) -> None:
        seen.append((work.token, work.vars, ctx.account_id == alice.account_id))

    @step(weight=60)
    def finish(work: StepContext) -> None:
        seen.append(event(application, event_id)[:2])

    kind = Operation(kind="t.order", args=Named, steps=(fetch, write, finish))
    application = harness(kind)
    op_id, event_id = start(application, kind, alice, Named("web"))
    assert event(application, event_id)[:2] == ("scheduled", None)
    assert application.time_travel.drain() == 1
    assert seen == [
        (f"op{op_id}.fetch", "web", "alice"),
        ("started", 0),
        (f"op{op_id}.write", {"fetched": 1}, True),
        ("started", 40),
    ]
    assert event(application, event_id)[:3] == ("finished", 100, "")
    assert application.operation(op_id, "state", "owner", "error") == ("done", None, None)


def test_a_failed_attempt_is_repeated_later_and_leaves_nothing_behind(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    moments: list[int] = []
    notes: list[dict[str, Any]] = []

    @step(retries=3)
    def stumble(work: StepContext) -> None:
        moments.append(work.runtime.clock.now())
        notes.append(dict(work.vars))
        work.vars["dirt"] = True
        work.then(lambda ctx: notes.append({"never": True}))
        if len(moments) < 4:
            raise ConnectionError("a passing fault")
        work.vars = {}
        work.writes.clear()

    kind = Operation(kind="t.stumble", args=Named, steps=(stumble,))
    application = harness(kind)
    application.time_travel.freeze()
    _, event_id = start(application, kind, alice)
    application.time_travel.settle()
    assert [later - earlier for earlier, later in pairwise(moments)] == [1000, 2000, 4000]
    assert notes == [{}, {}, {}, {}]
    assert event(application, event_id)[0] == "finished"
    assert application.worker.metrics["retries"] == 3


def test_after_the_last_retry_it_fails_and_the_user_reads_nothing_of_ours(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    @tx_step(retries=2)
    def break_down(ctx: Context, work: StepContext) -> None:
        raise RuntimeError("host 10.0.0.7 is on fire")

    kind = Operation(kind="t.break", args=Named, steps=(break_down,))
    application = harness(kind)
    op_id, event_id = start(application, kind, alice)
    application.time_travel.settle()
    assert event(application, event_id)[:3] == ("failed", 0, NEUTRAL)
    state, error, attempt = application.operation(op_id, "state", "error", "attempt")
    assert (state, attempt) == ("failed", 2)
    assert error == "break_down: RuntimeError: host 10.0.0.7 is on fire"


def test_what_cannot_succeed_fails_at_once_with_its_own_words(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    failures: list[str] = []

    @step(weight=50)
    def prepare(work: StepContext) -> None:
        work.vars["prepared"] = 1

    @step(weight=50)
    def refuse(work: StepContext) -> None:
        work.vars["refused"] = 1
        raise Failed("The disk is in use.")

    def failed(ctx: Context, work: StepContext, reason: str) -> None:
        failures.append(f"{reason} {work.vars}")
        events.record(ctx, "told_in_the_same_transaction")

    kind = Operation(kind="t.refuse", args=Named, steps=(prepare, refuse), failed=failed)
    application = harness(kind)
    _, event_id = start(application, kind, alice)
    application.time_travel.drain()
    assert failures == ["The disk is in use. {'prepared': 1}"]
    status, percent, message, finished = event(application, event_id)
    assert (status, percent, message) == ("failed", 50, "The disk is in use.")
    assert finished is not None


def test_an_operation_ends_even_if_its_failed_hook_raises(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    @step()
    def refuse(work: StepContext) -> None:
        raise Failed("No.")

    def failed(ctx: Context, work: StepContext, reason: str) -> None:
        events.record(ctx, "rolled_back")
        raise RuntimeError("the hook is broken too")

    kind = Operation(kind="t.hook", args=Named, steps=(refuse,), failed=failed)
    application = harness(kind)
    op_id, event_id = start(application, kind, alice)
    application.time_travel.drain()
    assert event(application, event_id)[0] == "failed"
    assert "the hook is broken too" in application.operation(op_id, "error")[0]
    with application.runtime.database.read() as db:
        assert events.EVENTS.total(db, alice.account_id) == 1


def test_sleep_is_durable_keeps_the_key_and_runs_the_same_step_again(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    order: list[str] = []

    @step()
    def boot(work: StepContext) -> Sleep | None:
        work.vars["looks"] = work.vars.get("looks", 0) + 1
        order.append(f"{work.args.name}{work.vars['looks']}")
        return Sleep(10) if work.vars["looks"] < 3 else None

    kind = Operation(kind="t.boot", args=Named, steps=(boot,))
    application = harness(kind)
    application.time_travel.freeze()
    start(application, kind, alice, Named("a"))
    start(application, kind, alice, Named("b"))
    assert application.time_travel.advance(19.999)[1] == 0
    assert order == ["a1", "a2"]
    _, ended = application.time_travel.settle()
    assert order == ["a1", "a2", "a3", "b1", "b2", "b3"]
    assert ended == 2


def test_writes_handed_over_commit_with_the_checkpoint_or_not_at_all(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    tries: list[int] = []

    def write(ctx: Context) -> None:
        events.record(ctx, "written")

    def stumble(ctx: Context) -> None:
        raise ConnectionError

    @step(retries=1)
    def call(work: StepContext) -> None:
        tries.append(1)
        work.then(write)
        if len(tries) == 1:
            work.then(stumble)

    kind = Operation(kind="t.then", args=Named, steps=(call,))
    application = harness(kind)
    start(application, kind, alice)
    application.time_travel.settle()
    with application.runtime.database.read() as db:
        assert events.EVENTS.total(db, alice.account_id) == 2  # the operation's own, and one record
    assert len(tries) == 2


def test_the_done_hook_belongs_to_the_last_step(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    calls: list[str] = []

    @tx_step(retries=1)
    def only(ctx: Context, work: StepContext) -> None:
        calls.append("step")

    def done(ctx: Context, work: StepContext) -> None:
        calls.append("done")
        if len(calls) == 2:
            raise RuntimeError("not yet")

    kind = Operation(kind="t.done", args=Named, steps=(only,), done=done)
    application = harness(kind)
    op_id, _ = start(application, kind, alice)
    application.time_travel.settle()
    assert calls == ["step", "done", "step", "done"]
    assert application.operation(op_id, "state") == ("done",)


def test_secrets_are_forgotten_when_it_ends(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    seen: list[str | None] = []

    @step()
    def use(work: StepContext) -> None:
        seen.append(work.args.secret)

    kind = Operation(kind="t.secret", args=Named, steps=(use,), erased=("secret",))
    application = harness(kind)
    op_id, _ = start(application, kind, alice, Named("web", "sealed"))
    assert "sealed" in str(application.operation(op_id, "input"))
    application.time_travel.drain()
    assert seen == ["sealed"]
    assert application.operation(op_id, "input") == ({"name": "web"},)


def test_an_operation_that_is_not_kept_leaves_only_its_event(
    harness: Callable[..., EngineHarness], alice: Actor
) -> None:
    @tx_step()
    def probe(ctx: Context, work: StepContext) -> None: ...

    kind = Operation(kind="t.probe", args=Named, steps=(probe,), keep=False)
    application = harness(kind)
    op_id, event_id = start(application, kind, alice)
    assert application.time_travel.drain() == 0  # not one of those that people wait for
    assert application.worker.metrics["scheduled"] == 1
    assert application.operation(op_id, "state") is None
    assert event(application, event_id)[0] == "finished"


def test_progress_within_a_step_is_weighed_and_never_goes_back(
    harness: Callable[..., EngineHarness], alice: Actor, monkeypatch: Any
) -> None:
    monkeypatch.setattr("crofter.engine.step_context.PROGRESS_EVERY", 0.0)
    seen: list[Any] = []

    @step(weight=20)
    def prepare(work: StepContext) -> None: ...

    @step(weight=80)
    def copy(work: StepContext) -> None:
        for percent in (0, 50, 25, 100):
            work.progress(percent, rate="8 MB/s", remaining=3.0)
            seen.append(event(application, event_id)[1])

    kind = Operation(kind="t.copy", args=Named, steps=(prepare, copy))
    application = harness(kind)
    _, event_id = start(application, kind, alice)
    application.time_travel.drain()
    assert seen == [20, 60, 60, 99]


def test_progress_is_written_once_in_a_while(
    harness: Callable[..., EngineHarness], alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crofter.engine.step_context.PROGRESS_EVERY", math.inf)
    seen: set[int] = set()

    @step()
    def copy(work: StepContext) -> None:
        for percent in (30, 31, 32):
            work.progress(percent)
            seen.add(event(application, event_id)[1])

    kind = Operation(kind="t.throttled", args=Named, steps=(copy,))
    application = harness(kind)
    _, event_id = start(application, kind, alice)
    application.time_travel.drain()
    assert seen == {30}


def test_a_renamed_step_is_found_by_its_former_name(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    ran: list[str] = []

    @step()
    def wipe(work: StepContext) -> Sleep:
        return Sleep(5)

    @step()
    def erase(work: StepContext) -> None:
        work.progress(50)
        ran.append(work.token)

    before = Operation(kind="t.rename", args=Named, steps=(wipe,))
    after = Operation(kind="t.rename", args=Named, steps=(erase,), aliases={"wipe": "erase"})
    old = harness(before)
    op_id, event_id = start(old, before, alice)
    old.time_travel.drain()
    old.worker.stop()
    new = harness(after)
    new.time_travel.settle()
    assert ran == [f"op{op_id}.erase"]
    assert event(new, event_id)[:2] == ("finished", 100)


def test_an_older_version_is_finished_by_its_own_steps(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    ran: list[int] = []

    @step()
    def note_version(work: StepContext) -> None:
        ran.append(work.operation.version)

    versions = [Operation(kind="t.version", args=Named, steps=(note_version,), version=number) for number in (1, 2)]
    application = harness(*versions)
    for kind in versions:
        start(application, kind, alice)
    application.time_travel.drain()
    assert ran == [1, 2]


def test_work_of_newer_code_is_left_to_who_knows_it(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    @step()
    def do_nothing(work: StepContext) -> None: ...

    unknown = Operation(kind="t.unknown", args=Named, steps=(do_nothing,))
    application = harness()
    op_id, _ = start(application, unknown, alice)
    application.time_travel.drain()
    assert application.operation(op_id, "state", "attempt", "crashes") == ("waiting", 0, 0)
    application.worker.stop()
    newer = harness(unknown)
    newer.time_travel.settle()
    assert newer.operation(op_id, "state") == ("done",)


def test_arguments_that_cannot_be_read_fail_the_operation(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    class Other(Struct):
        size: int

    @step()
    def do_nothing(work: StepContext) -> None: ...

    application = harness(Operation(kind="t.args", args=Other, steps=(do_nothing,)))
    op_id, event_id = start(application, Operation(kind="t.args", args=Named, steps=(do_nothing,)), alice)
    application.time_travel.drain()
    assert application.operation(op_id, "state") == ("failed",)
    assert event(application, event_id)[2] == NEUTRAL


def test_an_exit_inside_a_step_is_a_failure_like_any_other(harness: Callable[..., EngineHarness], alice: Actor) -> None:
    @step(retries=0)
    def leave(work: StepContext) -> None:
        raise SystemExit(1)

    kind = Operation(kind="t.exit", args=Named, steps=(leave,))
    application = harness(kind)
    op_id, _ = start(application, kind, alice)
    application.time_travel.drain()
    assert application.operation(op_id, "state") == ("failed",)
