"""The states of an instance, and the one way from one to another: a job."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct
from sqlalchemy import bindparam, update

from crofter.context import Context
from crofter.db import query
from crofter.engine import Operation, admit, enqueue
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


class Job(Struct, frozen=True, kw_only=True):
    """An operation on an instance as its owner sees it: the event, where it may start, what it shows meanwhile.

    Where an instance ends up is looked at by the operation's last step, never assumed.
    """

    operation: Operation
    action: str
    accepts: tuple[Status, ...] = AT_REST
    during: Status | None = None
    """What it shows at once. None: the status stays as it is, as while a snapshot is taken."""
    later: tuple[Status, ...] = ()
    """What its steps show in the course of it."""


def key(instance_id: int) -> str:
    """What keeps two operations on one instance apart."""
    return f"compute:{instance_id}"


def author(ctx: Context) -> Author:
    return Author(ctx.actor.account_id, ctx.actor.user_id or None, ctx.actor.username)


def must_be_idle(ctx: Context, instance: Instance, accepts: tuple[Status, ...] = AT_REST) -> None:
    """Refuse while an earlier action is queued or under way, or in a state that the action does not start from."""
    if instance.status not in accepts:
        raise Busy
    admit(ctx, key(instance.id))


def start(ctx: Context, job: Job, instance: Instance, args: Struct, *, secondary: Entity | None = None) -> int:
    """Begin a job: status, event and operation in this transaction. Returns the event's id."""
    must_be_idle(ctx, instance, job.accepts)
    return follow(ctx, job, instance, args, secondary=secondary)


def follow(ctx: Context, job: Job, instance: Instance, args: Struct, *, secondary: Entity | None = None) -> int:
    """Queue a job behind what is under way already: the second half of something that was admitted as a whole."""
    event_id = write(
        ctx.db, ctx.now, author(ctx), job.action, "scheduled", store.entity(instance), secondary, percent=0
    )
    if job.during is not None:
        show(ctx, instance.id, job.during)
    enqueue(ctx, job.operation, args, key=key(instance.id), event_id=event_id)
    return event_id


def at_once(ctx: Context, job: Job, instance: Instance) -> int:
    """A job that finds nothing to do is finished as soon as it is written down."""
    told = store.entity(instance)
    return write(
        ctx.db, ctx.now, author(ctx), job.action, "finished", told, percent=100, started=ctx.now, finished=ctx.now
    )


def show(ctx: Context, instance_id: int, status: Status) -> None:
    """Let the instance show this status. For operations and their beginnings only.

    One that is being deleted shows nothing else any more, however far an earlier operation had come.
    """
    ctx.db.run(_SHOW, number=instance_id, shown=status, moment=ctx.moment)


def spare(ctx: Context, instance_id: int) -> None:
    """It could not be deleted, so it may show other things again."""
    ctx.db.update(store.instance, {"id": instance_id}, status="offline", updated=ctx.moment)
