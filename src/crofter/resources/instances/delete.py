"""Deletion of an instance, at any time."""

from __future__ import annotations

from crofter.context import Context
from crofter.drivers.hypervisor import Unreachable
from crofter.engine import Operation, Sleep, StepContext, step, tx_step
from crofter.resources.billing import traffic
from crofter.resources.instances import costs, hypervisor_client, neighbours, states, store
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.ips import shares
from crofter.resources.instances.ips.rules import rewire_all
from crofter.resources.instances.looking import Args, look_again
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.stackscripts import store as stackscripts
from crofter.resources.tags import store as tags
from crofter.resources.users import access


class DeleteArgs(Args, frozen=True):
    was_billed: bool = True
    """False if its costs had ended before the deletion was ordered, as those of an instance on a lost host."""


@step(weight=1)
def count_traffic(work: StepContext) -> Sleep | None:
    """Store this month's traffic while the host still knows it."""
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        try:
            left, asked = traffic.leaving(ctx, instance.account_id, [instance.id]), ctx.now
        except Unreachable:
            return hypervisor_client.ask_later(work)
    work.then(lambda ctx: traffic.remember(ctx, instance.account_id, left, asked))
    return None


@step(weight=80, retries=50)
def erase(work: StepContext) -> Sleep | None:
    """Remove the instance from its hosts: the machine first, since it uses the disks."""
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        own_disks = disks.of(ctx, instance.id)
        own_backups = [backup for backup in backups.of(ctx, instance.id) if backup.host is not None]
    if instance.host is None:
        return None
    refs: list[hypervisor_client.Ref] = [hypervisor_client.domain_ref(instance)]
    refs += [hypervisor_client.disk_ref(instance, disk) for disk in own_disks]
    refs += [hypervisor_client.backup_ref(backup) for backup in own_backups]
    return hypervisor_client.remove(work, refs[:1]) or hypervisor_client.remove(work, refs)


@tx_step(weight=20)
def forget(ctx: Context, work: StepContext) -> Sleep | None:
    """Addresses go back, tags and grants come off, volumes are free, and the row goes with all that hangs on it."""
    instance = store.get_unscoped(ctx, work.args.instance_id)
    neighbours.deleted(ctx, instance)
    rewire_all(ctx, shares.release_all(ctx, instance.id))
    tags.detach(ctx, store.KIND, instance.id)
    access.forget(ctx, store.KIND, instance.id)
    stackscripts.count_active(ctx, store.script_of(ctx, instance.id), None)
    schedule.end(ctx, instance.id)
    ctx.db.delete(store.instance, id=instance.id)
    vlans.forget_unused(ctx, instance.account_id, instance.region)
    return None


def spare(ctx: Context, instance_id: int, *, was_billed: bool = True) -> None:
    """Restore an instance whose deletion failed: it is billed if it was before, and can be deleted again."""
    states.spare(ctx, instance_id)
    if was_billed:
        costs.resume(ctx, store.get_unscoped(ctx, instance_id))


def spared(ctx: Context, work: StepContext, reason: str) -> None:
    spare(ctx, work.args.instance_id, was_billed=work.args.was_billed)
    look_again(ctx, work, reason)


DELETE = Job(
    operation=Operation(kind="compute_delete", args=DeleteArgs, steps=(count_traffic, erase, forget), failed=spared),
    action="compute_delete",
    accepts=states.STATUSES,
    interrupts=True,
    during="deleting",
)


def delete(ctx: Context, instance: Instance) -> None:
    """Delete at any time: running work is cancelled, and the instance is removed as soon as possible."""
    if instance.status == "deleting":
        return
    was_billed = costs.end(ctx, instance)
    states.start_job(ctx, DELETE, instance, DeleteArgs(instance.id, was_billed))


JOBS = (DELETE,)
