"""Taking away what a closed account has: a little at a time, so that others can write meanwhile."""

from __future__ import annotations

from crofter import clock
from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, tx_step
from crofter.engine.operation import Nothing
from crofter.engine.queue import enqueue

AT_ONCE = 50
"""Objects that are taken away in one transaction."""
TRY_AGAIN = 6 * clock.HOUR


def clear_away(ctx: Context) -> None:
    """Have all that the caller's account has taken away."""
    enqueue(ctx, CLEAR, Nothing())


@tx_step()
def take_some(ctx: Context, work: StepContext) -> Sleep | None:
    reached: dict[str, int] = work.vars.setdefault("reached", {})
    return Sleep(0) if ctx.runtime.kinds.remove_some(ctx, reached, AT_ONCE) else None


def take_up_later(ctx: Context, work: StepContext, _reason: str) -> None:
    """Nothing of it must live on, since nobody pays for it."""
    enqueue(ctx, CLEAR, work.args, due=ctx.now + TRY_AGAIN, vars=work.vars)


CLEAR = Operation(
    kind="account.clear", args=Nothing, queue="bulk", steps=(take_some,), failed=take_up_later, keep=False
)
