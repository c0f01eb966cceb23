"""Deleting an instance, whatever else is going on with it."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import query
from crofter.engine import Operation, Sleep, Work, cancel, step, tx_step
from crofter.engine.tables import operation
from crofter.resources.firewalls import store as firewalls
from crofter.resources.instances import costs, hands, states, store
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.operations.looking import Args
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.tags import store as tags
from crofter.resources.users.store import grant
from crofter.resources.volumes import store as volumes

_LIVE = query(
    select(operation.c.id)
    .where(operation.c.key == bindparam("key"), operation.c.state.in_(("queued", "running", "waiting")))
    .order_by(operation.c.id)
)


def stop_everything(ctx: Context, instance: Instance) -> None:
    """Cancel what is queued, and ask what is under way to stop at its next step."""
    for operation_id in ctx.db.column(_LIVE, key=states.key(instance.id)):
        cancel(ctx, operation_id)


@step(weight=80, retries=50)
def erase(work: Work) -> Sleep | None:
    """Nothing is left of it on any host: the machine first, since it holds its disks."""
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        own_disks = disks.of(ctx, instance.id)
        own_backups = [one for one in backups.of(ctx, instance.id) if one.host is not None]
    if instance.host is None:
        return None
    driver = hands.hypervisor(work.world)
    calls: list[hands.Call] = [lambda order: driver.ensure_gone(hands.domain(instance), order)]
    waiting = hands.carry_out(work, calls)
    if waiting is not None:
        return waiting
    for disk in own_disks:
        calls.append(lambda order, disk=disk: driver.ensure_gone(hands.volume(instance, disk), order))  # type: ignore[misc]
    for backup in own_backups:
        calls.append(lambda order, backup=backup: driver.ensure_gone(hands.saved(backup), order))  # type: ignore[misc]
    return hands.carry_out(work, calls)


@tx_step(weight=20)
def forget(ctx: Context, work: Work) -> Sleep | None:
    """Addresses go back, tags and grants come off, volumes are free, and the row goes with all that hangs on it."""
    instance = store.again(ctx, work.args.instance_id)
    for address in ips.of(ctx, instance.id):
        ips.release(ctx, address)
    tags.detach(ctx, store.KIND, instance.id)
    ctx.db.delete(grant, kind=store.KIND, object_id=instance.id)
    volumes.detach_all(ctx, instance.id)
    firewalls.let_go(ctx, store.KIND, instance.id)
    schedule.end(ctx, instance.id)
    costs.end(ctx, instance)
    ctx.db.delete(store.instance, id=instance.id)
    return None


DELETE = Job(
    operation=Operation(kind="compute_delete", args=Args, steps=(erase, forget)),
    action="compute_delete",
    during="deleting",
)

JOBS = (DELETE,)
