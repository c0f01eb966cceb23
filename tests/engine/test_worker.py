"""The worker in the background: waking, pausing, hanging, stopping, and being taken for dead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from crofter.context import Context
from crofter.engine import Operation, Sleep, Work, enqueue, step, tx_step
from crofter.engine.tables import worker as workers
from tests.engine.conftest import Bench
from tests.engine.deeds import Nothing
from tests.engine.storms import until

Benches = Callable[..., Bench]
PATIENT = {"poll": 600.0}
"""A worker that would not look by itself before the test is long over: what happens, happens by a hint."""


def put(house: Bench, kind: Operation, **how: Any) -> int:
    found: int = house.write(lambda ctx: enqueue(ctx, kind, Nothing(), **how))
    return found


def ended(house: Bench, op_id: int) -> bool:
    return bool(house.operation(op_id, "state")[0] in ("done", "failed", "cancelled"))


@tx_step()
def quick(ctx: Context, work: Work) -> None: ...


QUICK = Operation(kind="t.quick", args=Nothing, steps=(quick,))


class Gate:
    """A step that waits at a gate, so that the test knows where it is."""

    def __init__(self, **settings: Any) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.visits = 0

        @step(**settings)
        def wait(work: Work) -> None:
            self.visits += 1
            self.entered.release()
            self.open.wait()

        self.operation = Operation(kind="t.gate", args=Nothing, steps=(wait, quick))


def test_a_commit_wakes_the_worker(bench: Benches) -> None:
    house = bench(QUICK, lanes={"std": 2}, **PATIENT)
    for _ in range(3):
        op_id = put(house, QUICK, key="k")
        until(partial(ended, house, op_id), "the operation")


def test_a_short_sleep_is_not_held_up_by_a_long_poll(bench: Benches) -> None:
    @step()
    def nap(work: Work) -> Sleep | None:
        work.vars["naps"] = work.vars.get("naps", 0) + 1
        return Sleep(0.02) if work.vars["naps"] < 3 else None

    kind = Operation(kind="t.nap", args=Nothing, steps=(nap,))
    house = bench(kind, lanes={"std": 2}, **PATIENT)
    op_id = put(house, kind)
    until(lambda: ended(house, op_id), "the operation")


def test_the_next_of_a_key_starts_when_the_first_ends_whatever_its_lane(bench: Benches) -> None:
    gate = Gate()
    other = Operation(kind="t.other", args=Nothing, steps=(quick,), lane="bulk")
    house = bench(gate.operation, other, lanes={"std": 2, "bulk": 1}, **PATIENT)
    put(house, gate.operation, key="k")
    gate.entered.acquire()
    op_id = put(house, other, key="k")
    gate.open.set()
    until(lambda: ended(house, op_id), "the second operation")


def test_nothing_moves_under_a_frozen_clock_but_by_the_conductor(bench: Benches) -> None:
    gate = Gate()
    house = bench(QUICK, gate.operation, lanes={"std": 2}, poll=0.01)
    held = put(house, gate.operation)
    gate.entered.acquire()
    freezing = threading.Thread(target=house.conductor.freeze)
    freezing.start()
    until(lambda: house.worker._paused, "the pause")
    gate.open.set()
    freezing.join()
    assert house.operation(held, "state", "cursor") == ("waiting", "quick")  # put down at its checkpoint
    op_id = put(house, QUICK)
    threading.Event().wait(0.1)  # several polls
    assert house.operation(op_id, "state") == ("queued",)
    assert house.operation(held, "state") == ("waiting",)
    assert house.conductor.drain() == 2
    later = put(house, QUICK)
    house.conductor.thaw()
    until(lambda: ended(house, later), "the thaw")


def test_a_pause_waits_for_a_checkpoint_and_a_resume_goes_on(bench: Benches) -> None:
    gate = Gate()
    house = bench(gate.operation, lanes={"std": 1}, **PATIENT)
    op_id = put(house, gate.operation)
    gate.entered.acquire()
    pausing = threading.Thread(target=house.worker.pause)
    pausing.start()
    until(lambda: house.worker._paused, "the pause")
    assert pausing.is_alive()
    gate.open.set()
    pausing.join()
    assert house.operation(op_id, "state", "cursor", "owner") == ("waiting", "quick", None)
    house.worker.resume()
    until(lambda: ended(house, op_id), "the rest")
    assert gate.visits == 1


def test_a_step_that_hangs_is_given_up_and_its_thread_never_writes_again(bench: Benches) -> None:
    gate = Gate(deadline=0.05, retries=1)
    house = bench(gate.operation, QUICK, lanes={"std": 1}, poll=0.05)
    op_id = put(house, gate.operation)
    until(lambda: ended(house, op_id), "the second attempt to hang too")
    state, error, epoch = house.operation(op_id, "state", "error", "epoch")
    assert (state, error) == ("failed", "wait: still at it after 0.05 s")
    until(lambda: house.worker.metrics["hung"] == 2, "both to be counted, which is after they are given up")
    gate.open.set()
    until(lambda: house.worker.metrics["fenced"] == 2, "the late ones to meet the fence")
    assert house.operation(op_id, "state", "epoch") == ("failed", epoch)
    # The lane has one seat, and it works again.
    after = put(house, QUICK)
    until(lambda: ended(house, after), "the lane")


def test_a_step_that_hangs_does_not_hang_the_conductor(bench: Benches) -> None:
    gate = Gate(deadline=0.05, retries=1)
    house = bench(gate.operation, QUICK)
    op_id = put(house, gate.operation)
    assert house.conductor.settle()[1] == 1
    assert house.operation(op_id, "state") == ("failed",)
    put(house, QUICK)
    assert house.conductor.drain() == 1
    gate.open.set()


def test_a_stop_hands_back_what_it_cannot_finish_and_counts_no_crash(bench: Benches) -> None:
    gate = Gate()
    first = bench(gate.operation, lanes={"std": 1})
    op_id = put(first, gate.operation, key="k")
    gate.entered.acquire()
    first.worker.stop(grace=0)
    assert first.operation(op_id, "state", "owner", "crashes") == ("waiting", None, 0)
    gate.open.set()
    second = bench(gate.operation, lanes={"std": 1})
    until(lambda: ended(second, op_id), "the successor")
    assert second.operation(op_id, "state", "crashes") == ("done", 0)
    with second.world.database.read() as db:
        assert len(db.raw("SELECT id FROM worker").fetchall()) == 1


def test_a_stop_lets_a_step_finish_within_its_grace(bench: Benches) -> None:
    gate = Gate()
    house = bench(gate.operation, lanes={"std": 1})
    op_id = put(house, gate.operation)
    gate.entered.acquire()
    stopping = threading.Thread(target=house.worker.stop, args=(60.0,))
    stopping.start()
    until(house.worker._stopping.is_set, "the stop")
    gate.open.set()
    stopping.join()
    assert house.operation(op_id, "state", "cursor") == ("waiting", "quick")
    assert gate.visits == 1


def test_a_worker_that_was_buried_signs_in_again(bench: Benches) -> None:
    house = bench(QUICK, lanes={"std": 1}, **PATIENT)
    before = house.worker.pulse.id
    house.write(lambda ctx: ctx.db.delete(workers, id=before))
    op_id = put(house, QUICK)
    until(lambda: ended(house, op_id), "the operation")
    assert house.worker.pulse.id != before


def test_a_claim_whose_commit_went_unheard_is_found_again(bench: Benches) -> None:
    house = bench(QUICK, lease=0.1)
    op_id = put(house, QUICK)
    run, _ = house.worker.claim()
    assert run is not None
    house.worker.let_go(run)  # as if the thread had never heard of it
    until(lambda: house.operation(op_id, "state") == ("waiting",), "the worker to notice")
    house.conductor.drain()
    assert house.operation(op_id, "state", "crashes") == ("done", 1)


def test_each_lane_has_its_own_threads(bench: Benches) -> None:
    gate = Gate()
    slow = Operation(kind="t.slow", args=Nothing, steps=gate.operation.steps, lane="bulk")
    house = bench(slow, QUICK, lanes={"std": 1, "bulk": 1})
    put(house, slow)
    gate.entered.acquire()
    put(house, slow)
    op_id = put(house, QUICK)
    until(lambda: ended(house, op_id), "the quick one, beside the slow ones")
    gate.open.set()
