"""Taking away what a closed account has: a little at a time, so that others can write meanwhile."""

from __future__ import annotations

from crofter.context import Context
from crofter.engine import Operation, Sleep, Work, tx_step
from crofter.engine.operation import Nothing
from crofter.engine.queue import enqueue

AT_ONCE = 50
"""Objects that are taken away in one transaction."""


def clear_away(ctx: Context) -> None:
    """Have all that the caller's account has taken away."""
    enqueue(ctx, CLEAR, Nothing())


@tx_step()
def take_some(ctx: Context, work: Work) -> Sleep | None:
    reached: dict[str, int] = work.vars.setdefault("reached", {})
    return Sleep(0) if ctx.world.kinds.remove_some(ctx, reached, AT_ONCE) else None


CLEAR = Operation(kind="account.clear", args=Nothing, lane="bulk", steps=(take_some,), keep=False)
