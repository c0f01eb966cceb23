"""The states of an instance, and the one way from one to another: a job."""

from __future__ import annotations

from typing import get_args

from crofter import jobs
from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select, update
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.jobs import Subject, Undeclared, author
from crofter.resources.instances import store
from crofter.resources.instances.shapes import Status
from crofter.resources.instances.store import Instance

__all__ = [
    "AT_REST",
    "STATUSES",
    "Job",
    "Undeclared",
    "author",
    "key",
    "must_be_idle",
    "show",
    "spare",
    "start_job",
    "under_way",
]

STATUSES: tuple[Status, ...] = get_args(Status)
AT_REST: tuple[Status, ...] = ("running", "offline")
_instance = store.instance.c
_SHOW = query(
    update(store.instance)
    .where(_instance.id == bindparam("number"), _instance.status != "deleting")
    .values(status=bindparam("shown"), updated=bindparam("moment"))
)


class Job(jobs.Job, frozen=True, kw_only=True):
    """A job of an instance. Where the instance ends up is looked at by its last step, never assumed."""

    accepts: tuple[str, ...] = AT_REST


def show(ctx: Context, instance_id: int, status: str) -> None:
    """Let the instance show this status. For operations and their beginnings only.

    One that is being deleted shows nothing else any more, however far an earlier operation had come.
    """
    ctx.db.run(_SHOW, number=instance_id, shown=status, moment=ctx.moment)


def spare(ctx: Context, instance_id: int) -> None:
    """Set a deleting instance offline after a failed deletion."""
    ctx.db.update(store.instance, {"id": instance_id}, status="offline", updated=ctx.moment)


_INSTANCES: Subject[Instance] = Subject("compute", entity=store.entity, show=show)
key = _INSTANCES.key
start_job = _INSTANCES.start_job
finish_at_once = _INSTANCES.finish_at_once


def must_be_idle(
    ctx: Context, instance: Instance, accepts: tuple[str, ...] = AT_REST, behind: tuple[str, ...] = ()
) -> None:
    """Refuse while an earlier action is queued or under way, or in a state that the action does not start from."""
    _INSTANCES.must_be_idle(ctx, instance, accepts, behind)


_UNDER_WAY = query(
    select(operation.c.kind)
    .where(operation.c.key == bindparam("key"), state_in(operation, "running", "waiting"))
    .union_all(select(operation.c.kind).where(operation.c.key == bindparam("key"), state_in(operation, "queued")))
)


def under_way(ctx: Context, instance_id: int) -> set[str]:
    """Return the kinds of queued and running operations of an instance."""
    return set(ctx.db.column(_UNDER_WAY, key=key(instance_id)))
