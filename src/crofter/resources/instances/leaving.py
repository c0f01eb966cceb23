"""Instances leave a host that is taken out of service: moved to others while they run, in their turn like any job."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from crofter.context import Context, Runtime
from crofter.db import Row, Session, query
from crofter.db.sql import bindparam, func, select
from crofter.drivers.hypervisor import DriverError
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, step, timekeeping, tx_step
from crofter.engine.tables import operation, worker
from crofter.resources.instances import hypervisor_client, specs, states, store
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.looking import locate, look, look_again
from crofter.resources.instances.store import Instance
from crofter.resources.instances.watchdog import system_context

NO_SPACE = "No other host of the region has space for it."


class LeaveArgs(Struct, frozen=True):
    instance_id: int
    host: int
    """The one to leave. An instance that has left it meanwhile stays where it is."""


@step(weight=5)
def choose_other_host(work: StepContext) -> Sleep | None:
    """Only for a machine that is on: one that is off stays with its host, and is no worse for it."""
    with work.read() as ctx:
        instance = store.find_unscoped(ctx, work.args.instance_id)
        size = 0 if instance is None else sum(disk.size for disk in disks.of(ctx, instance.id))
    leaves = instance is not None and instance.host == work.args.host and instance.status == "running"
    if instance is None or not leaves or "to" in work.vars:
        return None
    driver = hypervisor_client.hypervisor(work.runtime)
    try:
        host = driver.place(instance.region, instance.id, specs.bare(instance), avoid=instance.host, disk=max(1, size))
    except DriverError:  # also if no host answers: the instance is then shut down with its host
        raise Failed(NO_SPACE) from None
    if host == work.args.host:
        raise Failed(NO_SPACE)
    work.vars["to"] = host
    return None


@step(weight=90)
def move_running(work: StepContext) -> Sleep | None:
    return hypervisor_client.move(work, work.args.host, live=True) if "to" in work.vars else None


@tx_step(weight=5)
def be_there(ctx: Context, work: StepContext) -> Sleep | None:
    if "to" in work.vars:
        ctx.db.update(store.instance, {"id": work.args.instance_id}, host=int(work.vars["to"]))
    return None


LEAVE = Operation(
    kind="compute_leave_host",
    args=LeaveArgs,
    steps=(locate, choose_other_host, move_running, be_there, look),
    failed=look_again,
    keep=False,
)
"""No job of the owner: the instance runs on, and shows nothing else."""


# calls of a command

_instance, _operation = store.instance.c, operation.c
_ON_HOST = query(
    select(_instance.id)
    .where(_instance.host == bindparam("host"), _instance.status.not_in(("offline", "stopped", "deleting")))
    .order_by(_instance.id)
)
_AT_WORK = query(select(func.count()).where(worker.c.works, worker.c.lease > bindparam("now")))


class Ended(Row):
    state: str
    error: str | None


_ENDED = query(select(_operation.state, _operation.error).where(_operation.id == bindparam("id")), Ended)


class Left(Struct, frozen=True):
    """Result of an instance's move off a host."""

    instance_id: int
    host: int | None
    """Present host."""
    reason: str | None = None
    """Reason of a failed move."""


def somebody_works(db: Session) -> bool:
    """True if a server is running that executes queued work."""
    return int(db.value(_AT_WORK, now=timekeeping.machine(db))) > 0


def on_host(db: Session, host: int) -> list[int]:
    """Return the instances on the host that are on, or have work in progress that may turn them on."""
    return db.column(_ON_HOST, host=host)


def order(runtime: Runtime, host: int, instance_ids: list[int]) -> dict[int, int]:
    """Queue the move of these instances behind their running work; return the operation of each."""
    ordered = {}
    for instance_id in instance_ids:
        with runtime.database.write() as db:
            instance = store.find_unscoped(Context(runtime, db), instance_id)
            if instance is None:
                continue
            ctx = system_context(runtime, db, instance)
            number = enqueue(ctx, LEAVE, LeaveArgs(instance_id, host), key=states.key(instance_id))
        assert number is not None
        ordered[instance_id] = number
    return ordered


def left(runtime: Runtime, ordered: dict[int, int]) -> Iterator[Left]:
    """Yield the instances whose move finished or failed."""
    for instance_id, number in ordered.items():
        with runtime.database.read() as db:
            row = db.maybe(_ENDED, id=number)
            instance: Instance | None = store.find_unscoped(Context(runtime, db), instance_id)
        if row is None or row.state in ("done", "failed", "cancelled"):
            _, _, reason = ("" if row is None else row.error or "").partition(": ")  # the step's name is internal
            yield Left(instance_id, None if instance is None else instance.host, reason or None)
