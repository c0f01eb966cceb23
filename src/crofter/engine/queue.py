"""The queue: admitting operations in the caller's transaction, claiming them, and the fence around each."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Id, Query, Row, Session, query, try_lock_account
from crofter.db.sql import (
    BigInteger,
    ColumnElement,
    bindparam,
    case,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    text,
    tuple_,
    update,
)
from crofter.engine import timekeeping
from crofter.engine.operation import Operation
from crofter.engine.tables import CLAIMED, Claimed, operation, worker
from crofter.errors import Busy
from crofter.events import Author

TOPIC = "operations"
KEPT = 90 * clock.DAY
"""How long an operation that ended can be looked at."""


class Fenced(Exception):
    """Another worker owns this operation now, or it has moved on."""


class Unregistered(Exception):
    """This process was taken for dead, and may not claim until it has signed in again."""


def state_in(rows: Any, *states: str) -> ColumnElement[bool]:
    """Written out, not bound: only then do both databases see that a partial index fits."""
    words: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in states]
    matches: ColumnElement[bool] = rows.c.state.in_(words) if len(words) > 1 else rows.c.state == words[0]
    return matches


# ---- the request's side -------------------------------------------------------------------------------------------

_INSERT: Query[Any] = query(
    text(
        "INSERT INTO operation (kind, version, queue, key, dedup, state, due, cursor, input, vars,"
        " account_id, user_id, username, event_id, created)"
        " VALUES (:kind, :version, :queue, :key, :dedup, 'queued', :due, :cursor, :input, :vars,"
        " :account_id, :user_id, :username, :event_id, :created)"
        " ON CONFLICT (dedup) DO NOTHING RETURNING id"
    )
    .bindparams(
        bindparam("input", type_=operation.c.input.type),
        bindparam("vars", type_=operation.c.vars.type),
    )
    .columns(id=Id)
)
# A sleeping or retrying operation is in progress, whenever it is due; a queued operation for tomorrow is not.
_LIVE_KINDS = select(operation.c.kind).where(
    operation.c.key == bindparam("key"),
    or_(
        state_in(operation, "running", "waiting"),
        state_in(operation, "queued") & (operation.c.due <= bindparam("now")),
    ),
)
_LIVE = query(_LIVE_KINDS.limit(1))
_ALL_LIVE = query(_LIVE_KINDS)
ANY = "*"
"""Stands for all kinds of operations."""


def admit(ctx: Context, key: str, behind: tuple[str, ...] = ()) -> None:
    """Refuse with Busy while an operation on ``key`` is queued or under way, except for the kinds in ``behind``."""
    if ctx.caller is not None:
        ctx.db.lock_account(ctx.account_id)  # two requests must not both find the key free
    if ANY in behind:
        return
    live = ctx.db.column(_ALL_LIVE if behind else _LIVE, key=key, now=timekeeping.now(ctx.runtime, ctx.db))
    if set(live) - set(behind):
        raise Busy


def enqueue(
    ctx: Context,
    kind: Operation,
    args: Struct,
    *,
    key: str | None = None,
    due: int | None = None,
    dedup: str | None = None,
    event_id: int | None = None,
    author: Author | None = None,
    vars: dict[str, Any] | None = None,
) -> int | None:
    """Write an operation in the caller's transaction: it exists if and only if that commits.

    Returns its id, or None if one with the same ``dedup`` is known already. ``due`` is service time; the
    author is the caller unless another is named.
    """
    moment = timekeeping.now(ctx.runtime, ctx.db)
    if kind.admission == "reject" and key is not None and (due is None or due <= moment):
        admit(ctx, key)
    if author is None and ctx.caller is not None:
        author = Author(ctx.actor.account_id, ctx.actor.user_id or None, ctx.actor.username)
    what = {"kind": kind.kind, "version": kind.version, "queue": kind.queue, "cursor": kind.steps[0].name}
    who = {"account_id": None, "user_id": None, "username": None} if author is None else msgspec.to_builtins(author)
    notes = {"input": msgspec.to_builtins(args), "vars": vars or {}}
    when = {"due": moment if due is None else due, "created": ctx.now}
    op_id: int | None = ctx.db.value(_INSERT, key=key, dedup=dedup, event_id=event_id, **what, **who, **notes, **when)
    if op_id is not None:
        ctx.db.signal(f"{TOPIC}:{kind.queue}")
        ctx.db.operations.append((kind, args))
    return op_id


# ---- the worker's side --------------------------------------------------------------------------------------------


def _first(*, one_queue: bool = False, only: bool = False) -> Any:
    """The first operation that may run: due, its key free, and nothing of its key ahead of it.

    Both halves of the key's condition are needed. On PostgreSQL SKIP LOCKED passes over a head that another
    worker is just taking; without NOT EXISTS its successor would then look like the first of the key.
    """
    candidate, holder, ahead = operation.alias("candidate"), operation.alias("holder"), operation.alias("ahead")
    taken = select(holder.c.key).where(state_in(holder, "running", "waiting"), holder.c.key.is_not(None))
    earlier = exists().where(
        ahead.c.key == candidate.c.key,
        state_in(ahead, "queued"),
        tuple_(ahead.c.due, ahead.c.id) < tuple_(candidate.c.due, candidate.c.id),
    )
    ready = select(candidate.c.id).where(
        state_in(candidate, "queued", "waiting"),
        candidate.c.due <= bindparam("now"),
        or_(state_in(candidate, "waiting"), candidate.c.key.is_(None), candidate.c.key.not_in(taken) & ~earlier),
    )
    if one_queue:
        ready = ready.where(candidate.c.queue == bindparam("queue"))
    if only:
        ready = ready.where(candidate.c.id == bindparam("only"))
    return ready.order_by(candidate.c.due, candidate.c.id).limit(1).with_for_update(skip_locked=True).cte("first")


class Won(Claimed):
    """A claimed operation, with whether its account is locked, so that its begin can be recorded at once.

    Operations lock their account before their row. Here the order is reversed, so the lock must not wait.
    """

    held: bool


_HELD = case(
    (operation.c.event_id.is_not(None) & operation.c.started.is_(None), try_lock_account(operation.c.account_id)),
    else_=false(),
).label("held")


def _claim(first: Any) -> Query[Won]:
    started = case(
        (operation.c.event_id.is_(None), func.coalesce(operation.c.started, bindparam("now"))),
        else_=operation.c.started,
    )
    return query(
        update(operation)
        .where(operation.c.id.in_(select(first.c.id)), state_in(operation, "queued", "waiting"))
        .values(state="running", owner=bindparam("me"), epoch=operation.c.epoch + 1, started=started)
        .returning(*CLAIMED, _HELD),
        Won,
    )


CLAIM_QUEUE = _claim(_first(one_queue=True))
CLAIM_ANY = _claim(_first())
CLAIM_ONE = _claim(_first(only=True))
# Locked until the claim commits: a process that reaps this worker waits, and then sees the claim.
_ALIVE = query(
    select(worker.c.id).where(worker.c.id == bindparam("me")).with_for_update(read=True, key_share=True), int
)


def claim(db: Session, me: int, now: int, queue: str | None = None, only: int | None = None) -> Won | None:
    """The next operation, now ours; of one queue, or of any. Raises Duplicate when a race for a key was lost.

    ``only``: this operation or none.
    """
    alive = db.maybe_later(_ALIVE, me=me)
    if only is not None:
        row = db.maybe(CLAIM_ONE, me=me, now=now, only=only)
    elif queue is None:
        row = db.maybe(CLAIM_ANY, me=me, now=now)
    else:
        row = db.maybe(CLAIM_QUEUE, me=me, now=now, queue=queue)
    if alive() is None:
        raise Unregistered  # and with that, nothing is claimed
    return row


FENCE = query(
    select(operation.c.cancel)
    .where(
        operation.c.id == bindparam("id"),
        operation.c.epoch == bindparam("epoch"),
        operation.c.cursor == bindparam("cursor"),
        state_in(operation, "running"),
    )
    .with_for_update()
)


def ask_fence(db: Session, op_id: int, epoch: int, cursor: str) -> None:
    """Prefetch the row for ``fence``."""
    db.ask_ahead(FENCE, id=op_id, epoch=epoch, cursor=cursor)


def fence(db: Session, op_id: int, epoch: int, cursor: str) -> bool:
    """Lock the operation for this transaction, or raise Fenced. Return whether cancellation was requested."""
    cancel = db.value(FENCE, id=op_id, epoch=epoch, cursor=cursor)
    if cancel is None:
        raise Fenced
    return bool(cancel)


class OperationState(Row):
    state: str
    cursor: str
    epoch: int
    cancel: bool


_SEEN = query(
    select(operation.c.state, operation.c.cursor, operation.c.epoch, operation.c.cancel).where(
        operation.c.id == bindparam("id")
    ),
    OperationState,
)


def look(db: Session, op_id: int) -> OperationState | None:
    return db.maybe(_SEEN, id=op_id)


def save(db: Session, op_id: int, epoch: int, /, **changes: Any) -> None:
    """Write columns of an operation that this transaction has fenced, so that its row is ours until the commit."""
    db.update_later(operation, {"id": op_id, "epoch": epoch}, **changes)


def hasten(db: Session, op_id: int, now: int) -> None:
    """An operation that waits need not wait any longer."""
    if db.update(operation, {"id": op_id, "state": "waiting"}, due=now):
        db.signal(TOPIC)


# ---- looking at the whole -----------------------------------------------------------------------------------------

NEXT = select(func.min(operation.c.due)).where(
    state_in(operation, "queued", "waiting"), operation.c.due > bindparam("now")
)
_NEXT_IN_QUEUE = query(NEXT.where(operation.c.queue == bindparam("queue")))
_LISTED = query(select(worker.c.id).where(worker.c.id == bindparam("id")))
ELSEWHERE = (
    select(operation.c.id)
    .where(state_in(operation, "running"), operation.c.owner.is_distinct_from(bindparam("me", type_=Id)))
    .limit(1)
)
"""Something that a process other than this one is at work on."""
# Two questions, each with an index that holds nothing of the past.
_UNDER_WAY = query(select(operation.c.id).where(state_in(operation, "running", "waiting")).limit(1))
_DUE = query(
    select(operation.c.id).where(state_in(operation, "queued", "waiting"), operation.c.due <= bindparam("now")).limit(1)
)
_WITH_EVENT = query(
    select(operation.c.id).where(state_in(operation, "queued", "waiting"), operation.c.event_id.is_not(None)).limit(1)
)
_QUIET = query(
    select(operation.c.id)
    .where(
        operation.c.key == bindparam("key"),
        state_in(operation, "queued"),
        operation.c.due <= bindparam("now"),
        operation.c.event_id.is_not_distinct_from(bindparam("event_id", type_=Id)) | operation.c.event_id.is_(None),
    )
    .order_by(operation.c.due, operation.c.id)
    .limit(1)
)
_PRUNE: Query[Any] = query(
    text(
        "DELETE FROM operation WHERE id IN (SELECT id FROM operation"
        " WHERE state IN ('done', 'failed', 'cancelled') AND finished < :before ORDER BY id LIMIT :batch)"
    ).bindparams(bindparam("before", type_=BigInteger))
)


def next_due(db: Session, now: int, queue: str) -> int | None:
    """The first moment after ``now`` at which an operation of this queue falls due."""
    due: int | None = db.value(_NEXT_IN_QUEUE, now=now, queue=queue)
    return due


def lives(db: Session, worker_id: int) -> bool:
    """True if the worker is registered."""
    return db.value(_LISTED, id=worker_id) is not None


def any_with_event(db: Session) -> bool:
    """True if an operation with an event is queued or waiting."""
    return db.value(_WITH_EVENT) is not None


def next_quiet(db: Session, key: str, event_id: int | None, now: int) -> int | None:
    """The id of the next operation on this key that has no event, or that follows up the failure of this event."""
    op_id: int | None = db.value(_QUIET, key=key, event_id=event_id, now=now)
    return op_id


def unsettled(db: Session, now: int) -> bool:
    """True if an operation is in progress or due. Operations of a later day do not count."""
    return db.value(_UNDER_WAY) is not None or db.value(_DUE, now=now) is not None


def prune(runtime: Runtime, *, batch: int = 1000) -> int:
    """Forget operations that ended long ago; how many they were. For a schedule to call."""
    before, gone = runtime.clock.now() - KEPT, 0
    while True:
        with runtime.database.write() as db:
            count = db.run(_PRUNE, before=before, batch=batch)
        gone += count
        if count < batch:
            return gone
