"""Admission, order and cancellation: what the queue promises to who writes into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crofter.clock import DAY, HOUR
from crofter.context import Actor, Context
from crofter.engine import Operation, Sleep, StepContext, admit, cancel, enqueue, prune, step, tx_step
from crofter.engine.metrics import depth
from crofter.errors import Busy
from crofter.events import Author
from tests.engine.conftest import EngineHarness
from tests.engine.traced_operations import Nothing

HarnessFactory = Callable[..., EngineHarness]
ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tx_step()
def run(ctx: Context, work: StepContext) -> None:
    ran.append(work.key or str(work.id))


@step()
def linger(work: StepContext) -> Sleep | None:
    ran.append(f"{work.key} {work.vars.setdefault('looks', 0)}")
    work.vars["looks"] += 1
    return Sleep(60) if work.vars["looks"] < 3 else None


QUICK = Operation(kind="t.quick", args=Nothing, steps=(run,))
FUSSY = Operation(kind="t.fussy", args=Nothing, steps=(run,), admission="reject")
LONG = Operation(kind="t.long", args=Nothing, steps=(linger,))
EVERYTHING = (QUICK, FUSSY, LONG)


def put(application: EngineHarness, kind: Operation = QUICK, actor: Actor | None = None, **how: Any) -> Any:
    return application.write(lambda ctx: enqueue(ctx, kind, Nothing(), **how), actor)


def test_an_operation_exists_only_if_its_request_commits(harness: HarnessFactory) -> None:
    application = harness(*EVERYTHING)
    with pytest.raises(ZeroDivisionError):
        application.write(lambda ctx: (enqueue(ctx, QUICK, Nothing()), 1 // 0))
    assert application.states() == []
    put(application)
    assert application.states() == ["queued"]


def test_the_same_dedup_is_taken_once_even_after_it_ended(harness: HarnessFactory) -> None:
    application = harness(*EVERYTHING)
    assert put(application, dedup="backup:1@monday") is not None
    assert put(application, dedup="backup:1@monday") is None
    application.time_travel.drain()
    assert put(application, dedup="backup:1@monday") is None
    assert put(application, dedup="backup:1@tuesday") is not None
    assert application.states() == ["done", "queued"]


def test_an_operation_that_will_not_queue_is_refused_while_its_key_is_busy(
    harness: HarnessFactory, alice: Actor
) -> None:
    application = harness(*EVERYTHING)
    put(application, FUSSY, alice, key="instance:1")
    with pytest.raises(Busy):
        put(application, FUSSY, alice, key="instance:1")
    put(application, FUSSY, alice, key="instance:2")
    application.time_travel.drain()
    put(application, FUSSY, alice, key="instance:1")


def test_a_key_is_busy_while_its_operation_sleeps_and_free_while_one_waits_for_tomorrow(
    harness: HarnessFactory, alice: Actor
) -> None:
    application = harness(*EVERYTHING)
    put(application, LONG, alice, key="a")
    put(application, QUICK, alice, key="b", due=application.runtime.clock.now() + DAY)
    application.time_travel.drain()
    with pytest.raises(Busy):
        application.write(lambda ctx: admit(ctx, "a"), alice)
    application.write(lambda ctx: admit(ctx, "b"), alice)


def test_one_key_is_served_in_order_and_the_future_does_not_block_it(harness: HarnessFactory) -> None:
    application = harness(*EVERYTHING)
    application.time_travel.freeze()
    put(application, LONG, key="k")
    later = put(application, QUICK, key="k", due=application.runtime.clock.now() + HOUR)
    put(application, QUICK, key="k")
    put(application, QUICK, key="other")
    application.time_travel.settle()
    assert ran == ["k 0", "other", "k 1", "k 2", "k"]
    assert application.operation(later, "state") == ("queued",)
    application.time_travel.advance(3600)
    assert application.operation(later, "state") == ("done",)


def test_the_author_is_the_caller_unless_another_is_named(harness: HarnessFactory, alice: Actor) -> None:
    application = harness(*EVERYTHING)
    own = put(application, QUICK, alice)
    named = put(application, QUICK, alice, author=Author(alice.account_id, None, "lassie"))
    nobody = put(application)
    assert application.operation(own, "account_id", "user_id", "username") == (alice.account_id, 1, "alice")
    assert application.operation(named, "account_id", "user_id", "username") == (alice.account_id, None, "lassie")
    assert application.operation(nobody, "account_id", "user_id", "username") == (None, None, None)


# ---- cancelling -----------------------------------------------------------------------------------------------------


def test_what_is_queued_is_cancelled_at_once_and_its_resource_is_told(harness: HarnessFactory, alice: Actor) -> None:
    reasons: list[str] = []
    kind = Operation(
        kind="t.cancelled",
        args=Nothing,
        steps=(run,),
        failed=lambda ctx, work, reason: reasons.append(reason),
        erased=("x",),
    )
    application = harness(kind)
    op_id = put(application, kind, alice, key="k")
    assert application.write(lambda ctx: cancel(ctx, op_id), alice)
    assert application.operation(op_id, "state") == ("cancelled",)
    assert reasons == ["The operation was cancelled."]
    assert not application.write(lambda ctx: cancel(ctx, op_id), alice)
    assert application.time_travel.drain() == 0


def test_what_sleeps_is_woken_to_be_cancelled(harness: HarnessFactory, alice: Actor) -> None:
    application = harness(*EVERYTHING)
    application.time_travel.freeze()
    op_id = put(application, LONG, alice, key="k")
    application.time_travel.drain()
    application.write(lambda ctx: cancel(ctx, op_id), alice)
    assert application.time_travel.drain() == 1
    assert application.operation(op_id, "state") == ("cancelled",)
    assert ran == ["k 0"]


def test_what_is_under_way_stops_at_its_next_checkpoint(harness: HarnessFactory, alice: Actor) -> None:
    seen: list[bool] = []

    @step()
    def notice(work: StepContext) -> None:
        seen.append(work.cancelled)
        application.write(lambda ctx: cancel(ctx, work.id), alice)
        work._look_at = 0.0
        seen.append(work.cancelled)
        work.then(lambda ctx: ran.append("kept"))

    kind = Operation(kind="t.notice", args=Nothing, steps=(notice, run))
    application = harness(kind)
    op_id = put(application, kind, alice, key="k")
    assert application.time_travel.drain() == 1
    assert seen == [False, True]
    assert ran == ["kept"]
    assert application.operation(op_id, "state") == ("cancelled",)


def test_a_last_step_that_is_done_is_done(harness: HarnessFactory, alice: Actor) -> None:
    @step()
    def finish(work: StepContext) -> None:
        application.write(lambda ctx: cancel(ctx, work.id), alice)

    kind = Operation(kind="t.finish", args=Nothing, steps=(finish,))
    application = harness(kind)
    op_id = put(application, kind, alice)
    application.time_travel.drain()
    assert application.operation(op_id, "state") == ("done",)


# ---- looking after the table ----------------------------------------------------------------------------------------


def test_old_operations_are_forgotten_and_live_ones_are_not(harness: HarnessFactory) -> None:
    application = harness(*EVERYTHING)
    for _ in range(5):
        put(application)
    application.time_travel.drain()
    put(application, QUICK, due=application.runtime.clock.now() + 200 * DAY)
    application.time_travel.advance(89 * 86400)
    assert prune(application.runtime) == 0
    application.time_travel.advance(2 * 86400)
    assert prune(application.runtime, batch=2) == 5
    assert application.states() == ["queued"]


def test_the_depth_of_each_queue_can_be_read(harness: HarnessFactory) -> None:
    application = harness(*EVERYTHING)
    application.time_travel.freeze()
    put(application, LONG, key="k")
    application.time_travel.drain()
    put(application, key="k")
    with application.runtime.database.read() as db:
        depths = {(row.state, row.amount, row.oldest_due - application.runtime.clock.now()) for row in depth(db)}
    assert depths == {("waiting", 1, 60_000), ("queued", 1, 0)}
