"""Scheduling maintenance, and doing it when its time has come."""

from __future__ import annotations

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, enqueue, tx_step
from crofter.resources.instances import states
from crofter.resources.instances import store as instances
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.store import Instance
from crofter.resources.maintenance import store

LASTS = 3600
"""Seconds until maintenance that has started is over."""


class Args(Struct, frozen=True):
    maintenance_id: int
    instance_id: int
    kind: str


def schedule(ctx: Context, instance: Instance, kind: str, when: int, reason: str) -> int:
    number = ctx.db.insert(
        store.maintenance,
        account_id=instance.account_id,
        instance_id=instance.id,
        type=kind,
        status="pending",
        reason=reason,
        when_=clock.text(when),
    )
    enqueue(ctx, MAINTAIN, Args(number, instance.id, kind), due=when)
    return number


def call_off(ctx: Context, maintenance_id: int) -> bool:
    """Cancel a maintenance. Return False if it has begun or does not exist."""
    return ctx.db.delete(store.maintenance, id=maintenance_id, status="pending") > 0


@tx_step()
def begin(ctx: Context, work: StepContext) -> Sleep | None:
    """Begin the maintenance: reboot or move the instance, behind running work of its owner."""
    # Imported here: commands that only schedule maintenance need not load it.
    from crofter.resources.instances import leaving  # noqa: PLC0415
    from crofter.resources.instances.move import operations as move  # noqa: PLC0415
    from crofter.resources.instances.power.operations import HOST_REBOOT, BootArgs  # noqa: PLC0415
    from crofter.resources.instances.watchdog import system_context  # noqa: PLC0415

    started = ctx.db.update(store.maintenance, {"id": work.args.maintenance_id, "status": "pending"}, status="started")
    instance = instances.find_unscoped(ctx, work.args.instance_id)
    if not started or instance is None:
        return None  # gone, with its instance
    work.vars["until"] = ctx.now + LASTS * clock.SECOND
    ctx = system_context(ctx.runtime, ctx.db, instance)  # the present owner gets the event
    config = next(
        (candidate for candidate in configs.of(ctx, instance.id) if candidate.id == instance.booted_config), None
    )
    if instance.status == "running" and config is not None and work.args.kind == "reboot":
        args = BootArgs(instance.id, config.id)
        states.start_job(ctx, HOST_REBOOT, instance, args, secondary=configs.entity(config), after=work.operation)
    elif instance.status in states.AT_REST and work.args.kind == "cold_migration":
        states.start_job(ctx, move.MIGRATE, instance, move.arguments(instance), after=work.operation)
    elif instance.status == "running" and instance.host is not None and work.args.kind == "live_migration":
        enqueue(ctx, leaving.LEAVE, leaving.LeaveArgs(instance.id, instance.host), key=states.key(instance.id))
    return None


@tx_step()
def wait(ctx: Context, work: StepContext) -> Sleep | None:
    """Shown for a while as started, then over."""
    left = work.vars.get("until", 0) - ctx.now
    return Sleep(left / clock.SECOND) if left > 0 else None


@tx_step()
def end(ctx: Context, work: StepContext) -> Sleep | None:
    ctx.db.delete(store.maintenance, id=work.args.maintenance_id)
    return None


MAINTAIN = Operation(kind="maintenance", args=Args, steps=(begin, wait, end), keep=False)
