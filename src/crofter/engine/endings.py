"""End of an operation: row, event and resource change in one transaction."""

from __future__ import annotations

import logging

import msgspec
from msgspec import Struct

from crofter import events
from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.engine import queue, timekeeping
from crofter.engine.operation import Failure, Operation, operations_of
from crofter.engine.step_context import FAILURE, StepContext
from crofter.engine.tables import CLAIMED, Claimed, operation

NEUTRAL = "The operation could not be completed."
"""Failure text for users when the cause is internal to the server."""
CANCELLED = "The operation was cancelled."

log = logging.getLogger("crofter.engine")


def done(ctx: Context, work: StepContext) -> None:
    kind, work.followed = work.operation, False
    if kind.done is not None:
        kind.done(ctx, work)
    now = timekeeping.now(ctx.runtime, ctx.db)
    if kind.keep:
        changes = {"state": "done", "vars": work.vars, "owner": None, "finished": now, "error": None}
        queue.save(ctx.db, work.id, work.epoch, **changes, **_without_secrets(kind, work))
    else:
        ctx.db.delete_later(operation, id=work.id)
    if work.event_id is None or work.account_id is None or work.followed:
        return
    if work.failure is not None:
        events.failed(ctx.db, now, work.account_id, work.event_id, work.failure.reason, work.failure.percent)
    else:
        events.finished(ctx.db, now, work.account_id, work.event_id)


def unsuccessful(
    ctx: Context,
    work: StepContext,
    state: str,
    reason: str,
    error: str | None,
    percent: int | None = None,
    *,
    hook: bool = True,
) -> None:
    """End as ``failed`` or ``cancelled``; the user reads ``reason``, operators read ``error``."""
    kind = work.operation
    work.ending, work.followed = work.failure or Failure(reason, percent), False
    if hook and kind.failed is not None:
        kind.failed(ctx, work, reason)
    now = timekeeping.now(ctx.runtime, ctx.db)
    changes = {"state": state, "vars": work.vars, "owner": None, "finished": now, "error": error}
    queue.save(ctx.db, work.id, work.epoch, **changes, **_without_secrets(kind, work))
    if work.event_id is not None and work.account_id is not None and not work.followed:
        events.failed(ctx.db, now, work.account_id, work.event_id, work.ending.reason, work.ending.percent)


def follow_up(ctx: Context, work: StepContext, kind: Operation, args: Struct, *, key: str) -> None:
    """Enqueue ``kind`` to put an object in order after ``work`` failed. For ``failed`` hooks.

    The event of ``work`` stays open and fails when ``kind`` has ended: until then ``key`` is busy.
    """
    if work.event_id is None:
        queue.enqueue(ctx, kind, args, key=key)
        return
    notes = {FAILURE: msgspec.to_builtins(work.ending)}
    queue.enqueue(ctx, kind, args, key=key, event_id=work.event_id, vars=notes)
    work.followed = True


def _without_secrets(kind: Operation, work: StepContext) -> dict[str, object]:
    if not kind.erased:
        return {}
    return {"input": {name: value for name, value in work.input.items() if name not in kind.erased}}


_ONE = select(*CLAIMED).where(operation.c.id == bindparam("id"))
_UNLOCKED = query(_ONE, Claimed)
_LOCKED = query(_ONE.with_for_update(), Claimed)


def cancel(ctx: Context, op_id: int) -> bool:
    """End an operation that is queued; ask one that is under way to stop at its next checkpoint.

    False if there was nothing left to cancel.
    """
    row = ctx.db.maybe(_UNLOCKED, id=op_id)
    if row is not None and row.account_id is not None:
        ctx.db.lock_account(row.account_id)  # before the row, as everywhere: two locks in one order
    row = ctx.db.maybe(_LOCKED, id=op_id)
    seen = queue.look(ctx.db, op_id)
    if row is None or seen is None or seen.state in ("done", "failed", "cancelled"):
        return False
    kind = operations_of(ctx.runtime).find(row.kind, row.version)
    if seen.state == "queued" and kind is not None:
        unsuccessful(ctx, StepContext(ctx.runtime, kind, row), "cancelled", CANCELLED, None)
        return True
    changes: dict[str, object] = {"cancel": True}
    if seen.state == "waiting":
        changes["due"] = timekeeping.now(ctx.runtime, ctx.db)
    queue.save(ctx.db, row.id, row.epoch, **changes)
    ctx.db.signal(f"{queue.TOPIC}:{row.queue}")
    return True
