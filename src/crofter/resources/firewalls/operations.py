"""Letting machines know of the rules in front of them, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, enqueue, tx_step
from crofter.resources.instances.ips import rules as networks

AT_ONCE = 50
"""Maximum number of machines per transaction."""
TOGETHER = 1000
"""Maximum number of machines per operation."""


class ApplyArgs(Struct, frozen=True):
    instance_ids: list[int]


@tx_step()
def apply_some(ctx: Context, work: StepContext) -> Sleep | None:
    """An operation for each machine, so that none waits for the host of another. Each reads the newest rules."""
    reached = int(work.vars.get("reached", 0))
    waiting = work.args.instance_ids[reached:]
    for instance_id in waiting[:AT_ONCE]:
        networks.apply_later(ctx, instance_id)
    work.vars["reached"] = reached + AT_ONCE
    return Sleep(0) if waiting[AT_ONCE:] else None


# Without a key, like the operations that it queues: a late one applies the newest rules too.
APPLY = Operation(kind="firewall_apply", args=ApplyArgs, steps=(apply_some,), keep=False)
OPERATIONS = (APPLY,)


def apply(ctx: Context, instance_ids: Sequence[int]) -> None:
    """The filter in front of these instances changes in this transaction."""
    if len(instance_ids) <= AT_ONCE:
        for instance_id in instance_ids:
            networks.apply_later(ctx, instance_id)
        return
    for start in range(0, len(instance_ids), TOGETHER):
        enqueue(ctx, APPLY, ApplyArgs(list(instance_ids[start : start + TOGETHER])))
