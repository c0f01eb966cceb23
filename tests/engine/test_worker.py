"""The worker in the background: waking, pausing, hanging, stopping, and being taken for dead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, enqueue, step, tx_step
from crofter.engine.tables import worker as workers
from tests.engine.conftest import EngineHarness
from tests.engine.storms import until
from tests.engine.traced_operations import Nothing

HarnessFactory = Callable[..., EngineHarness]
PATIENT = {"poll": 600.0}
"""A worker that would not look by itself before the test is long over: what happens, happens by a hint."""


def put(application: EngineHarness, kind: Operation, **how: Any) -> int:
    operation_id: int = application.write(lambda ctx: enqueue(ctx, kind, Nothing(), **how))
    return operation_id


def ended(application: EngineHarness, op_id: int) -> bool:
    return bool(application.operation(op_id, "state")[0] in ("done", "failed", "cancelled"))


@tx_step()
def quick(ctx: Context, work: StepContext) -> None: ...


QUICK = Operation(kind="t.quick", args=Nothing, steps=(quick,))


class Gate:
    """A step that waits at a gate, so that the test knows where it is."""

    def __init__(self, **settings: Any) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.visits = 0

        @step(**settings)
        def wait(work: StepContext) -> None:
            self.visits += 1
            self.entered.release()
            self.open.wait()

        self.operation = Operation(kind="t.gate", args=Nothing, steps=(wait, quick))


def test_a_commit_wakes_the_worker(harness: HarnessFactory) -> None:
    application = harness(QUICK, pool_sizes={"std": 2}, **PATIENT)
    for _ in range(3):
        op_id = put(application, QUICK, key="k")
        until(partial(ended, application, op_id), "the operation")


def test_a_short_sleep_is_not_held_up_by_a_long_poll(harness: HarnessFactory) -> None:
    @step()
    def nap(work: StepContext) -> Sleep | None:
        work.vars["naps"] = work.vars.get("naps", 0) + 1
        return Sleep(0.02) if work.vars["naps"] < 3 else None

    kind = Operation(kind="t.nap", args=Nothing, steps=(nap,))
    application = harness(kind, pool_sizes={"std": 2}, **PATIENT)
    op_id = put(application, kind)
    until(lambda: ended(application, op_id), "the operation")


def test_the_next_of_a_key_starts_when_the_first_ends_whatever_its_queue(harness: HarnessFactory) -> None:
    gate = Gate()
    other = Operation(kind="t.other", args=Nothing, steps=(quick,), queue="bulk")
    application = harness(gate.operation, other, pool_sizes={"std": 2, "bulk": 1}, **PATIENT)
    put(application, gate.operation, key="k")
    gate.entered.acquire()
    op_id = put(application, other, key="k")
    gate.open.set()
    until(lambda: ended(application, op_id), "the second operation")


def test_nothing_moves_under_a_frozen_clock_but_by_the_time_travel(harness: HarnessFactory) -> None:
    gate = Gate()
    application = harness(QUICK, gate.operation, pool_sizes={"std": 2}, poll=0.01)
    held = put(application, gate.operation)
    gate.entered.acquire()
    freezing = threading.Thread(target=application.time_travel.freeze)
    freezing.start()
    until(lambda: application.worker._paused, "the pause")
    gate.open.set()
    freezing.join()
    assert application.operation(held, "state", "cursor") == ("waiting", "quick")  # put down at its checkpoint
    op_id = put(application, QUICK)
    threading.Event().wait(0.1)  # several polls
    assert application.operation(op_id, "state") == ("queued",)
    assert application.operation(held, "state") == ("waiting",)
    assert application.time_travel.drain() == 2
    later = put(application, QUICK)
    application.time_travel.thaw()
    until(lambda: ended(application, later), "the thaw")


def test_a_pause_waits_for_a_checkpoint_and_a_resume_goes_on(harness: HarnessFactory) -> None:
    gate = Gate()
    application = harness(gate.operation, pool_sizes={"std": 1}, **PATIENT)
    op_id = put(application, gate.operation)
    gate.entered.acquire()
    pausing = threading.Thread(target=application.worker.pause)
    pausing.start()
    until(lambda: application.worker._paused, "the pause")
    assert pausing.is_alive()
    gate.open.set()
    pausing.join()
    assert application.operation(op_id, "state", "cursor", "owner") == ("waiting", "quick", None)
    application.worker.resume()
    until(lambda: ended(application, op_id), "the rest")
    assert gate.visits == 1


def test_a_step_that_hangs_is_given_up_and_its_thread_never_writes_again(harness: HarnessFactory) -> None:
    gate = Gate(deadline=0.05, retries=1)
    application = harness(gate.operation, QUICK, pool_sizes={"std": 1}, poll=0.05)
    op_id = put(application, gate.operation)
    until(lambda: ended(application, op_id), "the second attempt to hang too")
    state, error, epoch = application.operation(op_id, "state", "error", "epoch")
    assert (state, error) == ("failed", "wait: still at it after 0.05 s")
    until(lambda: application.worker.metrics["hung"] == 2, "both to be counted, which is after they are given up")
    gate.open.set()
    until(lambda: application.worker.metrics["fenced"] == 2, "the late ones to meet the fence")
    assert application.operation(op_id, "state", "epoch") == ("failed", epoch)
    # The queue has a single slot, and works again.
    after = put(application, QUICK)
    until(lambda: ended(application, after), "the queue")


def test_a_step_that_hangs_does_not_hang_the_time_travel(harness: HarnessFactory) -> None:
    gate = Gate(deadline=0.05, retries=1)
    application = harness(gate.operation, QUICK)
    op_id = put(application, gate.operation)
    assert application.time_travel.settle()[1] == 1
    assert application.operation(op_id, "state") == ("failed",)
    put(application, QUICK)
    assert application.time_travel.drain() == 1
    gate.open.set()


def test_a_stop_hands_back_what_it_cannot_finish_and_counts_no_crash(harness: HarnessFactory) -> None:
    gate = Gate()
    first = harness(gate.operation, pool_sizes={"std": 1})
    op_id = put(first, gate.operation, key="k")
    gate.entered.acquire()
    first.worker.stop(grace=0)
    assert first.operation(op_id, "state", "owner", "crashes") == ("waiting", None, 0)
    gate.open.set()
    second = harness(gate.operation, pool_sizes={"std": 1})
    until(lambda: ended(second, op_id), "the successor")
    assert second.operation(op_id, "state", "crashes") == ("done", 0)
    with second.runtime.database.read() as db:
        assert len(db.raw("SELECT id FROM worker").fetchall()) == 1


def test_a_stop_lets_a_step_finish_within_its_grace(harness: HarnessFactory) -> None:
    gate = Gate()
    application = harness(gate.operation, pool_sizes={"std": 1})
    op_id = put(application, gate.operation)
    gate.entered.acquire()
    stopping = threading.Thread(target=application.worker.stop, args=(60.0,))
    stopping.start()
    until(application.worker._stopping.is_set, "the stop")
    gate.open.set()
    stopping.join()
    assert application.operation(op_id, "state", "cursor") == ("waiting", "quick")
    assert gate.visits == 1


def test_a_worker_that_was_buried_signs_in_again(harness: HarnessFactory) -> None:
    application = harness(QUICK, pool_sizes={"std": 1}, **PATIENT)
    before = application.worker.heartbeat.id
    application.write(lambda ctx: ctx.db.delete(workers, id=before))
    op_id = put(application, QUICK)
    until(lambda: ended(application, op_id), "the operation")
    assert application.worker.heartbeat.id != before


def test_a_claim_whose_commit_went_unheard_is_found_again(harness: HarnessFactory) -> None:
    application = harness(QUICK, lease=0.1)
    op_id = put(application, QUICK)
    run, _ = application.worker.claim()
    assert run is not None
    application.worker.let_go(run)  # simulates a thread that has not noticed
    until(lambda: application.operation(op_id, "state") == ("waiting",), "the worker to notice")
    application.time_travel.drain()
    assert application.operation(op_id, "state", "crashes") == ("done", 1)


def test_each_queue_has_its_own_threads(harness: HarnessFactory) -> None:
    gate = Gate()
    slow = Operation(kind="t.slow", args=Nothing, steps=gate.operation.steps, queue="bulk")
    application = harness(slow, QUICK, pool_sizes={"std": 1, "bulk": 1})
    put(application, slow)
    gate.entered.acquire()
    put(application, slow)
    op_id = put(application, QUICK)
    until(lambda: ended(application, op_id), "the quick one, beside the slow ones")
    gate.open.set()
