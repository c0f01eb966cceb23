"""Admission, order and cancellation: what the queue promises to who writes into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crofter.clock import DAY, HOUR
from crofter.context import Actor, Context
from crofter.engine import Operation, Sleep, Work, admit, cancel, enqueue, prune, step, tx_step
from crofter.engine.metrics import depth
from crofter.errors import Busy
from crofter.journal import Author
from tests.engine.conftest import Bench
from tests.engine.deeds import Nothing

Benches = Callable[..., Bench]
ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tx_step()
def run(ctx: Context, work: Work) -> None:
    ran.append(work.key or str(work.id))


@step()
def linger(work: Work) -> Sleep | None:
    ran.append(f"{work.key} {work.vars.setdefault('looks', 0)}")
    work.vars["looks"] += 1
    return Sleep(60) if work.vars["looks"] < 3 else None


QUICK = Operation(kind="t.quick", args=Nothing, steps=(run,))
FUSSY = Operation(kind="t.fussy", args=Nothing, steps=(run,), admission="reject")
LONG = Operation(kind="t.long", args=Nothing, steps=(linger,))
EVERYTHING = (QUICK, FUSSY, LONG)


def put(house: Bench, kind: Operation = QUICK, actor: Actor | None = None, **how: Any) -> Any:
    return house.write(lambda ctx: enqueue(ctx, kind, Nothing(), **how), actor)


def test_an_operation_exists_only_if_its_request_commits(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    with pytest.raises(ZeroDivisionError):
        house.write(lambda ctx: (enqueue(ctx, QUICK, Nothing()), 1 // 0))
    assert house.states() == []
    put(house)
    assert house.states() == ["queued"]


def test_the_same_dedup_is_taken_once_even_after_it_ended(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    assert put(house, dedup="backup:1@monday") is not None
    assert put(house, dedup="backup:1@monday") is None
    house.conductor.drain()
    assert put(house, dedup="backup:1@monday") is None
    assert put(house, dedup="backup:1@tuesday") is not None
    assert house.states() == ["done", "queued"]


def test_an_operation_that_will_not_queue_is_refused_while_its_key_is_busy(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    put(house, FUSSY, alice, key="instance:1")
    with pytest.raises(Busy):
        put(house, FUSSY, alice, key="instance:1")
    put(house, FUSSY, alice, key="instance:2")
    house.conductor.drain()
    put(house, FUSSY, alice, key="instance:1")


def test_a_key_is_busy_while_its_operation_sleeps_and_free_while_one_waits_for_tomorrow(
    bench: Benches, alice: Actor
) -> None:
    house = bench(*EVERYTHING)
    put(house, LONG, alice, key="a")
    put(house, QUICK, alice, key="b", due=house.world.clock.now() + DAY)
    house.conductor.drain()
    with pytest.raises(Busy):
        house.write(lambda ctx: admit(ctx, "a"), alice)
    house.write(lambda ctx: admit(ctx, "b"), alice)


def test_one_key_is_served_in_order_and_the_future_does_not_block_it(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    put(house, LONG, key="k")
    later = put(house, QUICK, key="k", due=house.world.clock.now() + HOUR)
    put(house, QUICK, key="k")
    put(house, QUICK, key="other")
    house.conductor.settle()
    assert ran == ["k 0", "other", "k 1", "k 2", "k"]
    assert house.operation(later, "state") == ("queued",)
    house.conductor.advance(3600)
    assert house.operation(later, "state") == ("done",)


def test_the_author_is_the_caller_unless_another_is_named(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    own = put(house, QUICK, alice)
    named = put(house, QUICK, alice, author=Author(alice.account_id, None, "lassie"))
    nobody = put(house)
    assert house.operation(own, "account_id", "user_id", "username") == (alice.account_id, 1, "alice")
    assert house.operation(named, "account_id", "user_id", "username") == (alice.account_id, None, "lassie")
    assert house.operation(nobody, "account_id", "user_id", "username") == (None, None, None)


# ---- cancelling -----------------------------------------------------------------------------------------------------


def test_what_is_queued_is_cancelled_at_once_and_its_room_is_told(bench: Benches, alice: Actor) -> None:
    told: list[str] = []
    kind = Operation(
        kind="t.told", args=Nothing, steps=(run,), failed=lambda ctx, work, reason: told.append(reason), erased=("x",)
    )
    house = bench(kind)
    op_id = put(house, kind, alice, key="k")
    assert house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.operation(op_id, "state") == ("cancelled",)
    assert told == ["The operation was cancelled."]
    assert not house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.conductor.drain() == 0


def test_what_sleeps_is_woken_to_be_cancelled(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    op_id = put(house, LONG, alice, key="k")
    house.conductor.drain()
    house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.conductor.drain() == 1
    assert house.operation(op_id, "state") == ("cancelled",)
    assert ran == ["k 0"]


def test_what_is_under_way_stops_at_its_next_checkpoint(bench: Benches, alice: Actor) -> None:
    seen: list[bool] = []

    @step()
    def notice(work: Work) -> None:
        seen.append(work.cancelled)
        house.write(lambda ctx: cancel(ctx, work.id), alice)
        work._looked = 0.0
        seen.append(work.cancelled)
        work.then(lambda ctx: ran.append("kept"))

    kind = Operation(kind="t.notice", args=Nothing, steps=(notice, run))
    house = bench(kind)
    op_id = put(house, kind, alice, key="k")
    assert house.conductor.drain() == 1
    assert seen == [False, True]
    assert ran == ["kept"]
    assert house.operation(op_id, "state") == ("cancelled",)


def test_a_last_step_that_is_done_is_done(bench: Benches, alice: Actor) -> None:
    @step()
    def finish(work: Work) -> None:
        house.write(lambda ctx: cancel(ctx, work.id), alice)

    kind = Operation(kind="t.finish", args=Nothing, steps=(finish,))
    house = bench(kind)
    op_id = put(house, kind, alice)
    house.conductor.drain()
    assert house.operation(op_id, "state") == ("done",)


# ---- looking after the table ----------------------------------------------------------------------------------------


def test_old_operations_are_forgotten_and_live_ones_are_not(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    for _ in range(5):
        put(house)
    house.conductor.drain()
    put(house, QUICK, due=house.world.clock.now() + 200 * DAY)
    house.conductor.advance(89 * 86400)
    assert prune(house.world) == 0
    house.conductor.advance(2 * 86400)
    assert prune(house.world, batch=2) == 5
    assert house.states() == ["queued"]


def test_the_depth_of_each_lane_can_be_read(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    put(house, LONG, key="k")
    house.conductor.drain()
    put(house, key="k")
    with house.world.database.read() as db:
        found = {(one.state, one.amount, one.oldest_due - house.world.clock.now()) for one in depth(db)}
    assert found == {("waiting", 1, 60_000), ("queued", 1, 0)}
