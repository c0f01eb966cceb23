"""The states of an instance, and the one way from one to another: a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import Struct
from sqlalchemy import bindparam, select, update

from crofter.context import Context
from crofter.db import query
from crofter.engine import Operation, admit, cancel, enqueue
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.errors import Busy
from crofter.events import Author, write
from crofter.kinds import Entity
from crofter.resources.instances import store
from crofter.resources.instances.shapes import Status
from crofter.resources.instances.store import Instance

STATUSES: tuple[Status, ...] = get_args(Status)
AT_REST: tuple[Status, ...] = ("running", "offline")
_instance = store.instance.c
_SHOW = query(
    update(store.instance)
    .where(_instance.id == bindparam("number"), _instance.status != "deleting")
    .values(status=bindparam("shown"), updated=bindparam("moment"))
)


_OPERATION_IDS = select(operation.c.id).where(operation.c.key == bindparam("key"))
_LIVE = query(
    # Two halves, since each of them has an index.
    _OPERATION_IDS.where(state_in(operation, "running", "waiting")).union_all(
        _OPERATION_IDS.where(state_in(operation, "queued"))
    )
)


class Undeclared(Exception):
    """A job was started in a way that its declaration does not allow: a defect of the caller or of the list."""


class Job(Struct, frozen=True, kw_only=True):
    """An operation on an instance as its owner sees it: the event, where it may start, what it shows meanwhile.

    ``start_job`` enforces all of it. Where an instance ends up is looked at by the operation's last step, never
    assumed.
    """

    operation: Operation
    action: str
    accepts: tuple[Status, ...] = AT_REST
    """The states that it starts from. In any other one it is refused."""
    creates: bool = False
    """It starts from no state, because the instance is made in the same transaction."""
    interrupts: bool = False
    """It cancels whatever is queued or under way, instead of being refused meanwhile."""
    after: tuple[str, ...] = ()
    """Kinds of operations whose steps may queue it behind themselves and behind all that is under way."""
    during: Status | Mapping[str, Status] | None = None
    """What it shows at once, or that by the state it starts from. None: the status stays, as during a snapshot."""
    later: tuple[Status, ...] = ()
    """What its steps show in the course of it."""

    def shows(self, status: str) -> Status | None:
        """What it shows at once if it starts from this state."""
        return self.during.get(status) if isinstance(self.during, Mapping) else self.during


def key(instance_id: int) -> str:
    """What keeps two operations on one instance apart."""
    return f"compute:{instance_id}"


def author(ctx: Context) -> Author:
    return Author(ctx.actor.account_id, ctx.actor.user_id or None, ctx.actor.username)


def must_be_idle(ctx: Context, instance: Instance, accepts: tuple[Status, ...] = AT_REST) -> None:
    """Refuse while an earlier action is queued or under way, or in a state that the action does not start from.

    Every job is checked like this when it starts. A rule asks earlier where being busy is to be said before
    another refusal, or where it changes something without a job.
    """
    if instance.status not in accepts:
        raise Busy
    admit(ctx, key(instance.id))


def start_job(
    ctx: Context,
    job: Job,
    instance: Instance,
    args: Struct,
    *,
    secondary: Entity | None = None,
    after: Operation | None = None,
    entity: Entity | None = None,
) -> int:
    """Begin a job as it is declared: status, event and operation in this transaction. Returns the event's id.

    ``instance`` is the row as it is now, and what is kept busy. ``after`` is the operation whose step starts the
    job. ``entity`` is what the event is about, if that is not the instance.
    """
    _must_be_startable(ctx, job, instance, after)
    shown = job.shows(instance.status)
    if shown is not None and shown != instance.status:
        show(ctx, instance.id, shown)
    if job.interrupts:
        _cancel_all(ctx, instance)
    about = entity or store.entity(instance)
    event_id = write(ctx.db, ctx.now, author(ctx), job.action, "scheduled", about, secondary, percent=0)
    enqueue(ctx, job.operation, args, key=key(instance.id), event_id=event_id)
    return event_id


def finish_at_once(ctx: Context, job: Job, instance: Instance) -> int:
    """A job that finds nothing to do may start like any other, and is finished as soon as it is written down."""
    _must_be_startable(ctx, job, instance, None)
    about = store.entity(instance)
    return write(
        ctx.db, ctx.now, author(ctx), job.action, "finished", about, percent=100, started=ctx.now, finished=ctx.now
    )


def _must_be_startable(ctx: Context, job: Job, instance: Instance, after: Operation | None) -> None:
    if after is not None and after.kind not in job.after:
        raise Undeclared(f"{job.operation.kind} is not declared to follow {after.kind}")
    if job.creates:
        # A row of this very transaction: nobody else can have seen it, so nothing is looked for. Creating is frequent.
        if instance.created != ctx.moment:
            raise Undeclared(f"{job.operation.kind} starts with a new instance only")
    elif job.interrupts or after is not None:
        if instance.status not in job.accepts:
            raise Busy
    else:
        must_be_idle(ctx, instance, job.accepts)


def _cancel_all(ctx: Context, instance: Instance) -> None:
    """Cancel what is queued, and ask what is under way to stop at its next step."""
    for operation_id in sorted(ctx.db.column(_LIVE, key=key(instance.id))):
        cancel(ctx, operation_id)


def show(ctx: Context, instance_id: int, status: Status) -> None:
    """Let the instance show this status. For operations and their beginnings only.

    One that is being deleted shows nothing else any more, however far an earlier operation had come.
    """
    ctx.db.run(_SHOW, number=instance_id, shown=status, moment=ctx.moment)


def spare(ctx: Context, instance_id: int) -> None:
    """It could not be deleted, so it may show other things again."""
    ctx.db.update(store.instance, {"id": instance_id}, status="offline", updated=ctx.moment)
