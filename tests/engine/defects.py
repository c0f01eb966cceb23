"""Planted defects. Each makes the engine wrong in one way, which the audit that is meant to see it must see."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from crofter.context import Context
from crofter.db import Database, Query, Session, query
from crofter.db.sql import bindparam, false, func, literal_column, select, update
from crofter.engine import queue
from crofter.engine.queue import Won
from crofter.engine.step_context import StepContext
from crofter.engine.tables import CLAIMED, operation
from tests.engine import traced_operations


def no_fence(_: Database) -> None:
    """Drop the fence: a worker that lost its claim may write."""
    queue.FENCE = query(select(operation.c.cancel).where(operation.c.id == bindparam("id")))
    queue.save = _save_anyway


def _save_anyway(db: Session, op_id: int, _epoch: int, /, **changes: Any) -> None:
    db.update(operation, {"id": op_id}, **changes)


def no_cursor_in_fence(_: Database) -> None:
    """A commit that lands late is not seen."""
    queue.FENCE = query(
        select(operation.c.cancel).where(
            operation.c.id == bindparam("id"), operation.c.epoch == bindparam("epoch"), operation.c.state == "running"
        )
    )


def checkpoint_apart(database: Database) -> None:
    """The effect commits first, the cursor in a second transaction: killed in between, the effect comes twice."""
    real = queue.save

    def save_later(db: Session, op_id: int, epoch: int, /, **changes: Any) -> None:
        if "cursor" not in changes:
            return real(db, op_id, epoch, **changes)

        def save() -> None:
            time.sleep(0.01)
            with database.write() as other:
                real(other, op_id, epoch, **changes)

        db.after.append(save)
        return None

    queue.save = save_later


def effect_late(database: Database) -> None:
    """The cursor commits first, the effect in a second transaction: killed in between, the effect never comes."""
    real = traced_operations.leave

    def leave_later(ctx: Context, work: StepContext, name: str) -> None:
        def leave() -> None:
            time.sleep(0.01)
            with database.write() as other:
                real(Context(ctx.runtime, other), work, name)

        ctx.db.after.append(leave)

    traced_operations.leave = leave_later


def claim_without_order() -> Query[Won]:
    """The quick claim that does not ask what is ahead of it on the key."""
    candidate, held = operation.alias("candidate"), operation.alias("held")
    taken = select(held.c.key).where(held.c.state.in_(_words("running", "waiting")), held.c.key.is_not(None))
    ready = (
        select(candidate.c.id)
        .where(candidate.c.state.in_(_words("queued", "waiting")), candidate.c.due <= bindparam("now"))
        .where(
            candidate.c.queue == bindparam("queue"), (candidate.c.state == "waiting") | candidate.c.key.not_in(taken)
        )
    )
    return _claim(ready.order_by(candidate.c.due, candidate.c.id))


def no_order(_: Database) -> None:
    """On PostgreSQL a head that is just being taken is skipped, and its successor passes it."""
    queue.CLAIM_QUEUE = claim_without_order()


def no_exclusion(_: Database) -> None:
    """A claim that does not ask whether the key is taken. Meant for a database without the referee's index."""
    candidate = operation.alias("candidate")
    ready = select(candidate.c.id).where(
        candidate.c.state.in_(_words("queued", "waiting")),
        candidate.c.due <= bindparam("now"),
        candidate.c.queue == bindparam("queue"),
    )
    queue.CLAIM_QUEUE = _claim(ready.order_by(candidate.c.due, candidate.c.id))


def _claim(ready: Any) -> Query[Won]:
    first = ready.limit(1).with_for_update(skip_locked=True).cte("first")
    slowly = func.pg_sleep(0.002).is_not(None)  # between taking the row and writing it: the window, made wide
    return query(
        update(operation)
        .where(operation.c.id.in_(select(first.c.id)), slowly)
        .values(state="running", owner=bindparam("me"), epoch=operation.c.epoch + 1)
        .returning(*CLAIMED, false().label("held")),
        Won,
    )


def _words(*words: str) -> list[Any]:
    return [literal_column(f"'{word}'") for word in words]


DEFECTS: dict[str, Callable[[Database], None]] = {
    "no fence": no_fence,
    "no cursor in fence": no_cursor_in_fence,
    "checkpoint apart": checkpoint_apart,
    "effect late": effect_late,
    "no order": no_order,
    "no exclusion": no_exclusion,
}


def plant(name: str, database: Database) -> None:
    DEFECTS[name](database)
