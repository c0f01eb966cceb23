"""Another plan, another host, another region: off, changed, and on again if it was on."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from crofter.context import Context
from crofter.drivers.hypervisor import DomainSpec
from crofter.engine import Failed, Operation, Sleep, StepContext, follow_up, step, tx_step
from crofter.resources.instances import costs, hypervisor_client, neighbours, specs, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.looking import locate, look, look_again
from crofter.resources.instances.power.operations import boot_with, define_as, defined, switch_off, take_volumes_for
from crofter.resources.instances.shapes import Status
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.types import store as types
from crofter.resources.types.store import Type


class Target(Struct, frozen=True):
    """The region and the plan that it will have; nothing means another host alone."""

    region: str | None = None
    type: str | None = None
    grow: bool = True
    """True if the single data disk follows the plan."""
    larger: bool = True
    """True if the new plan has more disk, which the data disk fills."""


class MoveArgs(Struct, frozen=True):
    instance_id: int
    was_running: bool
    config_id: int | None
    """Profile to boot afterwards."""
    target: Target


@step(weight=15)
def stop(work: StepContext) -> Sleep | None:
    """Shut the machine down, and show what happens next."""
    waiting = switch_off(work) if work.args.was_running else None
    if waiting is None:
        work.then(lambda ctx: states.show(ctx, work.args.instance_id, "migrating"))
    return waiting


# ---- another plan ---------------------------------------------------------------------------------------------------


def _plan(ctx: Context, work: StepContext) -> Type:
    plan = types.find(ctx, work.args.target.type)
    if plan is None:
        raise Failed("The plan is gone.")
    return plan


@step(weight=20)
def shrink(work: StepContext) -> Sleep | None:
    """Before a smaller plan, the data disk is made to fit it."""
    return _resize(work, down=True)


@step(weight=20)
def grow(work: StepContext) -> Sleep | None:
    """Grow the data disk to fill a larger plan."""
    return _resize(work, down=False)


def _resize(work: StepContext, *, down: bool) -> Sleep | None:
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
        plan = _plan(ctx, work)
    data = data_disk(own)
    if not work.args.target.grow or data is None:
        return None
    size = plan.disk - beside(own, data)
    if size == data.size or (size < data.size) != down or not (down or work.args.target.larger):
        return None
    driver = hypervisor_client.hypervisor(work.runtime)
    waiting = hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_size(hypervisor_client.disk_ref(instance, data), size, order)]
    )
    if waiting is None:
        work.then(lambda ctx: _resized(ctx, data.id, size))
    return waiting


def changed_to(instance: Instance, plan: Type | None, *, region: str | None = None, grow: bool = True) -> Target:
    if plan is None:
        return Target(region)
    return Target(region, plan.slug, grow, larger=plan.disk > instance.disk)


def beside(own: list[disks.Disk], data: disks.Disk) -> int:
    """How large all other disks are."""
    return sum(disk.size for disk in own if disk.id != data.id)


def data_disk(own: list[disks.Disk]) -> disks.Disk | None:
    """The disk that follows the plan by itself: the only one, beside at most one for swap."""
    data = [disk for disk in own if disk.filesystem != "swap"]
    return data[0] if len(data) == 1 and len(own) <= 2 else None


def _resized(ctx: Context, disk_id: int, size: int) -> None:
    ctx.db.update(disks.disk, {"id": disk_id}, size=size, reserved=size, updated=ctx.moment)


@step(weight=10)
def redefine(work: StepContext) -> Sleep | None:
    """The machine gets what the new plan gives; only when its host agrees is the plan changed and billed."""
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        wanted = _spec(ctx, work, instance, _plan(ctx, work))
    return None if instance.host is None else defined(work, instance, wanted)


def _spec(ctx: Context, work: StepContext, instance: Instance, plan: Type) -> DomainSpec:
    larger = replace(instance, vcpus=plan.vcpus, memory=plan.memory)
    for config in configs.of(ctx, instance.id):
        if config.id == work.args.config_id:
            return specs.spec(ctx, larger, replace(config, memory_limit=_limit(config, instance, plan)))
    return specs.bare(larger)


def _limit(config: configs.Config, instance: Instance, plan: Type) -> int:
    """Return the memory limit under the new plan: the maximum stays the maximum, and a larger limit is reduced."""
    wanted = config.memory_limit
    return plan.memory if wanted == instance.memory or wanted > plan.memory else wanted


@tx_step(weight=5)
def change_plan(ctx: Context, work: StepContext) -> Sleep | None:
    if work.args.target.type is None:
        return None
    instance = store.get_unscoped(ctx, work.args.instance_id)
    plan = _plan(ctx, work)
    for config in configs.of(ctx, instance.id):
        limit = _limit(config, instance, plan)
        if limit != config.memory_limit:
            ctx.db.update(configs.config, {"id": config.id}, memory_limit=limit)
    ctx.db.update(
        store.instance,
        {"id": instance.id},
        type=plan.slug,
        vcpus=plan.vcpus,
        memory=plan.memory,
        disk=plan.disk,
        transfer=plan.transfer,
        gpus=plan.gpus,
        updated=ctx.moment,
    )
    costs.change_plan(ctx, instance, plan)
    return None


# ---- another host ---------------------------------------------------------------------------------------------------


@step(weight=5)
def choose_host(work: StepContext) -> Sleep | None:
    """Written down before the copying begins, so that a repeated move goes to the same place."""
    instance = hypervisor_client.current(work)
    if instance.host is None or "to" in work.vars:
        return None
    region = work.args.target.region or instance.region
    host = hypervisor_client.place(work, region, instance.id, specs.bare(instance), avoid=instance.host)
    if isinstance(host, Sleep):
        return host
    work.vars["from"], work.vars["to"] = instance.host, host
    return None


@step(weight=50)
def move(work: StepContext) -> Sleep | None:
    """An instance that was never put anywhere has nothing to be carried."""
    return hypervisor_client.move(work, int(work.vars["from"])) if "to" in work.vars else None


@tx_step(weight=5)
def arrive(ctx: Context, work: StepContext) -> Sleep | None:
    """The new host is the instance's host; in a new region it has new addresses."""
    instance = store.get_unscoped(ctx, work.args.instance_id)
    host = work.vars.get("to")
    changes: dict[str, object] = {"host": host, "migration_pending": False, "updated": ctx.moment}
    if work.args.target.region is not None and work.args.target.region != instance.region:
        neighbours.left(ctx, instance)
        for held in ips.of(ctx, instance.id):
            ips.release(ctx, held)
            ips.allocate(ctx, instance.id, work.args.target.region, public=held.public)
        changes["region"] = work.args.target.region
        changes["ipv6_rdns"] = None
        vlans.leave(ctx, instance)
    ctx.db.update(store.instance, {"id": instance.id}, **changes)
    return None


# ---- and back -------------------------------------------------------------------------------------------------------


@tx_step(weight=1)
def take_volumes_back(ctx: Context, work: StepContext) -> Sleep | None:
    """Before it is on again: its profile may name other volumes than it was booted with."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    leaving = instance is None or instance.status == "deleting"
    if not leaving and work.args.was_running and work.args.config_id is not None:
        take_volumes_for(ctx, work.args.instance_id, work.args.config_id)
    return None


@step(weight=15)
def resume(work: StepContext) -> Sleep | None:
    """Power on again if the move had powered off."""
    instance = hypervisor_client.current_or_none(work)
    if instance is None or instance.status == "deleting" or instance.host is None:
        return None
    if work.args.was_running and work.args.config_id is not None:
        return boot_with(work, work.args.config_id)
    return define_as(work, None)


RECOVER = Operation(
    kind="compute_recover",
    args=MoveArgs,
    steps=(locate, take_volumes_back, resume, look),
    failed=look_again,
    keep=False,
)


def arguments(instance: Instance, target: Target | None = None) -> MoveArgs:
    """Off first, if it is on; then it is moved or changed."""
    running = instance.status == "running"
    return MoveArgs(instance.id, running, instance.booted_config if running else None, target or Target())


def come_back(ctx: Context, work: StepContext, _reason: str) -> None:
    """Restore an unchanged instance after a failure, and power on if it was on."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    if instance is not None and instance.status != "deleting":
        # Internal work: the job's event fails when this has ended. Waits behind work that was queued meanwhile.
        follow_up(ctx, work, RECOVER, work.args, key=states.key(instance.id))


def _cost(ctx: Context, args: MoveArgs) -> tuple[int, int]:
    plan = types.find(ctx, args.target.type) if args.target.type else None
    return (0, 0) if plan is None else costs.difference(ctx, args.instance_id, plan)


def _job(kind: str, *steps: object, after: tuple[str, ...] = ()) -> Job:
    operation = Operation(
        kind=kind,
        args=MoveArgs,
        steps=(stop, *steps, take_volumes_back, resume, look),  # type: ignore[arg-type]
        failed=come_back,
        cost=_cost,
    )
    during: dict[str, Status] = {"running": "shutting_down", "offline": "migrating"}
    return Job(operation=operation, action=kind, after=after, during=during, later=("migrating",))


RESIZE = _job("compute_resize", shrink, redefine, change_plan, grow)
MUTATE = _job("compute_mutate", shrink, redefine, change_plan, grow)
MIGRATE = _job("compute_migrate", choose_host, move, change_plan, arrive, after=("maintenance",))
MIGRATE_REGION = _job("compute_migrate_datacenter", choose_host, move, change_plan, arrive)

JOBS = (RESIZE, MUTATE, MIGRATE, MIGRATE_REGION)
