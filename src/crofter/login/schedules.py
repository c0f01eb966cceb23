"""Forgetting what can no longer be used."""

from __future__ import annotations

from crofter import clock
from crofter.clock import DAY
from crofter.context import Context
from crofter.engine.operation import Nothing, Operation, Sleep, tx_step
from crofter.engine.schedules import Schedule
from crofter.engine.step_context import StepContext
from crofter.login import store


@tx_step()
def forget(ctx: Context, work: StepContext) -> Sleep | None:
    for statement in store.FORGET_MOMENTS:
        ctx.db.run(statement, before=ctx.moment)
    ctx.db.run(store.FORGET_SESSIONS, before=clock.text(ctx.now - DAY))
    ctx.db.run(store.FORGET_ATTEMPTS, before=ctx.now - DAY)
    return None


PRUNE = Operation(kind="login.prune", args=Nothing, queue="bulk", keep=False, steps=(forget,))
OPERATIONS = (PRUNE,)
SCHEDULES = (Schedule("login.prune", PRUNE, "daily 04:10", Nothing()),)
