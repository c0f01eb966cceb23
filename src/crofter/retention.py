"""Scheduled work of the system: checkpoints of the audit log, and deletion of expired rows."""

from __future__ import annotations

import threading
from contextlib import suppress

from crofter import audit, clock
from crofter.context import Context, Runtime
from crofter.db.database import TransactionConflict
from crofter.edge import idempotency
from crofter.engine import queue
from crofter.engine.operation import Nothing, Operation, Sleep, step, tx_step
from crofter.engine.schedules import Schedule
from crofter.engine.step_context import StepContext
from crofter.errors import Problem
from crofter.resources.events import store as events
from crofter.resources.logins import store as logins

BATCH = 2000
"""Rows per transaction, so that a big clean-up never keeps a request waiting."""
PATIENCE = 2.0
"""Seconds that a stop waits for its checkpoint."""


@step()
def take_checkpoint(work: StepContext) -> Sleep | None:
    audit.take(work.runtime)
    return None


def last_checkpoint(runtime: Runtime) -> None:
    """At an orderly stop: what was done until then cannot be cut off unnoticed while nothing runs. A database that does
    not answer does not hold the stop up.
    """

    def take() -> None:
        with suppress(Problem, TransactionConflict):
            audit.take(runtime)

    taking = threading.Thread(target=take, name="last-checkpoint", daemon=True)
    taking.start()
    taking.join(PATIENCE)


@tx_step()
def forget_events(ctx: Context, work: StepContext) -> Sleep | None:
    return Sleep(0) if events.prune(ctx.db, ctx.now, BATCH) == BATCH else None


@tx_step()
def forget_logins(ctx: Context, work: StepContext) -> Sleep | None:
    logins.prune(ctx.db, ctx.now)
    return None


@tx_step()
def forget_answers(ctx: Context, work: StepContext) -> Sleep | None:
    idempotency.prune(ctx.db, ctx.now)
    return None


@step()
def forget_operations(work: StepContext) -> Sleep | None:
    queue.prune(work.runtime, batch=BATCH)
    return None


@step()
def forget_orders(work: StepContext) -> Sleep | None:
    """Delete the hypervisors' records of operations, a day after the operations themselves."""
    work.runtime.hypervisor.prune(work.runtime.clock.now() - queue.KEPT - clock.DAY)
    return None


PRUNE = Operation(
    kind="retention.prune",
    args=Nothing,
    queue="bulk",
    keep=False,
    steps=(take_checkpoint, forget_events, forget_logins, forget_answers, forget_operations, forget_orders),
)

CHECKPOINT = Operation(kind="audit.checkpoint", args=Nothing, queue="bulk", keep=False, steps=(take_checkpoint,))

OPERATIONS = (PRUNE, CHECKPOINT)
SCHEDULES = (
    Schedule("retention.prune", PRUNE, "every 86400", Nothing()),
    # Checkpoints missed while the server is down are covered by the daily cleanup.
    Schedule("audit.checkpoint", CHECKPOINT, "every 3600", Nothing(), catchup="none"),
)
