"""Operations on disks."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import DiskSpec, FromDisk
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.resources.instances import hypervisor_client, purging, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.create.operations import DeployArgs, define_if_new, make_disks, seed_root
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.looking import look, look_again
from crofter.resources.instances.power.operations import place
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.stackscripts import store as stackscripts


class DiskArgs(Struct, frozen=True):
    instance_id: int
    disk_id: int
    size: int = 0


class CopyArgs(Struct, frozen=True):
    instance_id: int
    disk_id: int
    """The new disk."""
    source_id: int


def _both(work: StepContext, disk_id: int) -> tuple[Instance, Disk]:
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        disk = next((disk for disk in disks.of(ctx, instance.id) if disk.id == disk_id), None)
    if disk is None:
        raise Failed("The disk is gone.")
    return instance, disk


def unmade(ctx: Context, work: StepContext, _reason: str) -> None:
    """A disk that could not be made is not there."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    plans = work.args.disks if isinstance(work.args, DeployArgs) else [work.args]
    if instance is not None:
        purging.forget_disks(ctx, instance, [plan.disk_id for plan in plans])


@step(weight=90)
def copy(work: StepContext) -> Sleep | None:
    instance, target = _both(work, work.args.disk_id)
    wanted = DiskSpec(target.size, target.filesystem)  # type: ignore[arg-type]
    origin = FromDisk(hypervisor_client.disk_ref(instance, work.args.source_id))
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_disk(hypervisor_client.disk_ref(instance, target), wanted, origin, order)]
    )


@tx_step(weight=10)
def ready(ctx: Context, work: StepContext) -> Sleep | None:
    ctx.db.update(disks.disk, {"id": work.args.disk_id}, status="ready", updated=ctx.moment)
    return None


@step(weight=90)
def resize(work: StepContext) -> Sleep | None:
    """Refused by the hypervisor while the disk is in use, or below what its files need."""
    instance, disk = _both(work, work.args.disk_id)
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_size(hypervisor_client.disk_ref(instance, disk), work.args.size, order)]
    )


@tx_step(weight=10)
def resized(ctx: Context, work: StepContext) -> Sleep | None:
    size = work.args.size
    ctx.db.update(disks.disk, {"id": work.args.disk_id}, size=size, reserved=size, status="ready", updated=ctx.moment)
    return None


@step(weight=90)
def erase(work: StepContext) -> Sleep | None:
    instance = hypervisor_client.current(work)
    if instance.host is None:
        return None
    return hypervisor_client.remove(work, [hypervisor_client.disk_ref(instance, work.args.disk_id)])


@tx_step(weight=10)
def forget(ctx: Context, work: StepContext) -> Sleep | None:
    configs.without_disk(ctx, work.args.instance_id, work.args.disk_id)
    ctx.db.delete(disks.disk, id=work.args.disk_id)
    return None


def deployed(ctx: Context, work: StepContext) -> None:
    """The script of the disk is the one that the instance was last deployed with."""
    script_id, instance_id = work.args.stackscript_id, work.args.instance_id
    if script_id is not None:
        stackscripts.count_active(ctx, store.script_of(ctx, instance_id), script_id)
        ctx.db.update(store.instance, {"id": instance_id}, stackscript_id=script_id)


CREATE = Job(
    operation=Operation(
        kind="disk_create",
        args=DeployArgs,
        steps=(place, make_disks, seed_root, define_if_new, look),
        done=deployed,
        failed=unmade,
        erased=("seed",),
    ),
    action="disk_create",
)
COPY = Job(
    operation=Operation(kind="disk_duplicate", args=CopyArgs, steps=(copy, ready), failed=unmade),
    action="disk_duplicate",
)
RESIZE = Job(
    operation=Operation(kind="disk_resize", args=DiskArgs, steps=(resize, resized), failed=look_again),
    action="disk_resize",
)
DELETE = Job(
    operation=Operation(kind="disk_delete", args=DiskArgs, steps=(erase, forget), failed=look_again),
    action="disk_delete",
)
PASSWORD = Job(
    operation=Operation(kind="password_reset", args=DeployArgs, steps=(seed_root,), erased=("seed",)),
    action="password_reset",
    accepts=("offline",),
)

JOBS = (CREATE, COPY, RESIZE, DELETE, PASSWORD)
