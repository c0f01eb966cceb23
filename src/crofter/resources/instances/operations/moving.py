"""Another plan, another host, another region: off, changed, and on again if it was on."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import DiskRef
from crofter.engine import Failed, Operation, Sleep, Work, enqueue, step, tx_step
from crofter.resources.instances import costs, hands, specs, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.operations.looking import look
from crofter.resources.instances.operations.power import SHUTDOWN_GRACE
from crofter.resources.instances.states import Job
from crofter.resources.types import store as types


class MoveArgs(Struct, frozen=True):
    instance_id: int
    was_running: bool
    config_id: int | None = None
    """What to boot with afterwards."""
    region: str | None = None
    type: str | None = None
    grow: bool = True
    """Whether the one data disk follows the plan."""


@step(weight=15)
def stop(work: Work) -> Sleep | None:
    """Shut the machine down, and show what happens next."""
    waiting = None
    if work.args.was_running:
        instance = hands.current(work)
        driver = hands.hypervisor(work.world)
        waiting = hands.carry_out(
            work, [lambda order: driver.ensure_off(hands.domain(instance), order, grace=SHUTDOWN_GRACE)]
        )
    if waiting is None:
        work.then(lambda ctx: states.show(ctx, work.args.instance_id, "migrating"))
    return waiting


@step(weight=20)
def shrink(work: Work) -> Sleep | None:
    """Before a smaller plan, the data disk is made to fit it."""
    return _resize(work, down=True)


@step(weight=20)
def grow(work: Work) -> Sleep | None:
    """After a larger plan, the data disk fills it."""
    return _resize(work, down=False)


def _resize(work: Work, *, down: bool) -> Sleep | None:
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
        plan = types.find(ctx, work.args.type)
    if plan is None:
        raise Failed("The plan is gone.")
    data = data_disk(own)
    if not work.args.grow or data is None:
        return None
    size = plan.disk - sum(disk.size for disk in own if disk.id != data.id)
    if size == data.size or (size < data.size) != down:
        return None
    driver = hands.hypervisor(work.world)
    waiting = hands.carry_out(work, [lambda order: driver.ensure_size(hands.volume(instance, data), size, order)])
    if waiting is None:
        work.then(lambda ctx: _resized(ctx, data.id, size))
    return waiting


def data_disk(own: list[disks.Disk]) -> disks.Disk | None:
    """The disk that follows the plan by itself: the only one, beside at most one for swap."""
    data = [disk for disk in own if disk.filesystem != "swap"]
    return data[0] if len(data) == 1 and len(own) <= 2 else None


def _resized(ctx: Context, disk_id: int, size: int) -> None:
    ctx.db.update(disks.disk, {"id": disk_id}, size=size, reserved=size, updated=ctx.moment)


@tx_step(weight=5)
def change_plan(ctx: Context, work: Work) -> Sleep | None:
    instance = store.again(ctx, work.args.instance_id)
    plan = types.find(ctx, work.args.type) if work.args.type else None
    if plan is None:
        return None
    for config in configs.of(ctx, instance.id):
        if config.memory_limit == instance.memory:  # all there is stays all there is
            ctx.db.update(configs.config, {"id": config.id}, memory_limit=plan.memory)
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


@step(weight=5)
def choose_host(work: Work) -> Sleep | None:
    """Written down before the copying begins, so that a repeated move goes to the same place."""
    if "to" in work.vars:
        return None
    instance = hands.current(work)
    region = work.args.region or instance.region
    work.vars["from"] = instance.host
    work.vars["to"] = hands.hypervisor(work.world).place(region, instance.id, specs.bare(instance), avoid=instance.host)
    return None


@step(weight=50)
def move(work: Work) -> Sleep | None:
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
    refs = tuple(DiskRef(int(work.vars["from"]), disk.id) for disk in own)
    driver = hands.hypervisor(work.world)
    target = int(work.vars["to"])
    ref = hands.domain(instance)
    return hands.carry_out(work, [lambda order: driver.ensure_moved(ref, target, refs, order)])


@tx_step(weight=5)
def arrive(ctx: Context, work: Work) -> Sleep | None:
    """The new host is the instance's host; in a new region it has new addresses."""
    instance = store.again(ctx, work.args.instance_id)
    changes: dict[str, object] = {"host": int(work.vars["to"]), "migration_pending": False, "updated": ctx.moment}
    if work.args.region is not None and work.args.region != instance.region:
        for held in ips.of(ctx, instance.id):
            ips.release(ctx, held)
            ips.allocate(ctx, instance.id, work.args.region, public=held.public)
        changes["region"] = work.args.region
        changes["ipv6"] = ips.slaac(work.args.region, instance.id)
        changes["ipv6_rdns"] = None
    ctx.db.update(store.instance, {"id": instance.id}, **changes)
    return None


@step(weight=15)
def resume(work: Work) -> Sleep | None:
    """On again, if this had turned it off."""
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        config = configs.find(ctx, instance.id, work.args.config_id) if work.args.config_id else None
        wanted = specs.spec(ctx, instance, config) if config else specs.bare(instance)
        network = hands.wiring(ctx, instance)
    driver = hands.hypervisor(work.world)
    ref = hands.domain(instance)
    waiting = hands.carry_out(
        work,
        [lambda order: driver.ensure_domain(ref, wanted, order), hands.wire(work.world, instance, network)],
    )
    if waiting is not None or not work.args.was_running:
        return waiting
    return hands.carry_out(work, [lambda order: driver.ensure_running(ref, order)])


RECOVER = Operation(kind="compute_recover", args=MoveArgs, steps=(resume, look), keep=False)


def come_back(ctx: Context, work: Work, _reason: str) -> None:
    """What could not be changed is as it was, and on again if it was on."""
    enqueue(ctx, RECOVER, work.args, key=states.key(work.args.instance_id))


def _job(kind: str, *steps: object) -> Job:
    operation = Operation(
        kind=kind,
        args=MoveArgs,
        steps=(stop, *steps, resume, look),  # type: ignore[arg-type]
        failed=come_back,
    )
    return Job(operation=operation, action=kind)


RESIZE = _job("compute_resize", shrink, change_plan, grow)
MUTATE = _job("compute_mutate", shrink, change_plan, grow)
MIGRATE = _job("compute_migrate", change_plan, choose_host, move, arrive)
MIGRATE_REGION = _job("compute_migrate_datacenter", change_plan, choose_host, move, arrive)

JOBS = (RESIZE, MUTATE, MIGRATE, MIGRATE_REGION)
