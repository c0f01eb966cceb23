"""Putting an instance onto a host with its disks: the first half of create, and what rebuild does again."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crofter.context import Context
from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DiskSpec,
    Empty,
    FromBackup,
    FromDisk,
    FromImage,
    Seed,
    Source,
)
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.resources.instances import hypervisor_client, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.layout import DiskPlan
from crofter.resources.instances.operations.looking import look_again
from crofter.resources.instances.operations.placing import place
from crofter.resources.instances.operations.power import BOOT, BootArgs, define_as
from crofter.resources.instances.states import Job


def source(plan: DiskPlan) -> Source:
    """What a disk starts as, in the hypervisor's words."""
    if plan.image is not None:
        return FromImage(plan.image, plan.minimum)
    if plan.backup_id is not None and plan.backup_host is not None and plan.backup_disk is not None:
        return FromBackup(BackupRef(plan.backup_host, plan.backup_id), plan.backup_disk)
    if plan.from_disk is not None and plan.disk_host is not None:
        return FromDisk(DiskRef(plan.disk_host, plan.from_disk))
    return Empty()


class SeedPlan(Struct, frozen=True):
    """What goes onto the root disk. Sealed while it waits, since it holds the password."""

    disk_id: int
    password: str | None = None
    keys: list[str] = []
    script: str | None = None


class DeployArgs(Struct, frozen=True):
    instance_id: int
    disks: list[DiskPlan] = []
    seed: str | None = None
    """A sealed SeedPlan, in hexadecimal; erased when the operation ends."""
    boot_config: int | None = None
    """Boot with this profile afterwards."""


def sealed(ctx: Context, instance_id: int, plan: SeedPlan) -> str:
    return ctx.runtime.keyring.seal(msgspec.json.encode(plan), _place(instance_id)).hex()


def _opened(work: StepContext) -> SeedPlan:
    raw = work.runtime.keyring.open(bytes.fromhex(work.args.seed), _place(work.args.instance_id))
    return msgspec.json.decode(raw, type=SeedPlan)


def _place(instance_id: int) -> str:
    return f"seed of compute:{instance_id}"


@step(weight=65)
def make_disks(work: StepContext) -> Sleep | None:
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        known = {one.id: one for one in disks.of(ctx, instance.id)}
    driver = hypervisor_client.hypervisor(work.runtime)

    def make(plan: DiskPlan) -> hypervisor_client.Call:
        disk = known[plan.disk_id]
        wanted = DiskSpec(disk.size, disk.filesystem)  # type: ignore[arg-type]
        return lambda order: driver.ensure_disk(hypervisor_client.volume(instance, disk), wanted, source(plan), order)

    plans = planned(work)
    if any(plan.disk_id not in known for plan in plans):
        raise Failed("A disk of the deployment is gone.")
    waiting = hypervisor_client.carry_out(work, [make(plan) for plan in plans])
    if waiting is None:
        work.then(lambda ctx: _ready(ctx, [plan.disk_id for plan in plans]))
    return waiting


def planned(work: StepContext) -> list[DiskPlan]:
    """The disks to make: known from the start, or written down by an earlier step."""
    if "disks" in work.vars:
        return msgspec.convert(work.vars["disks"], list[DiskPlan])
    found: list[DiskPlan] = work.args.disks
    return found


def _ready(ctx: Context, ids: list[int]) -> None:
    for disk_id in ids:
        ctx.db.update(disks.disk, {"id": disk_id}, status="ready", updated=ctx.moment)


@step(weight=15)
def seed_root(work: StepContext) -> Sleep | None:
    """Write password and keys onto the root disk, which nothing uses yet."""
    if work.args.seed is None:
        return None
    instance = hypervisor_client.current(work)
    plan = _opened(work)
    wanted = Seed(password=plan.password, keys=tuple(plan.keys), hostname=instance.label, script=plan.script)
    root = hypervisor_client.volume(instance, int(work.vars.get("root_id", plan.disk_id)))
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_seed(root, wanted, order)])


@step(weight=10)
def define_first(work: StepContext) -> Sleep | None:
    """Make the machine known to its host, so that it can be looked at from now on."""
    with work.read() as ctx:
        found = configs.of(ctx, work.args.instance_id)
    return define_as(work, found[0].id if found else None)


@step(weight=5)
def define_if_new(work: StepContext) -> Sleep | None:
    """An instance whose first disk this is becomes known to its host; any other is left alone."""
    instance = hypervisor_client.current(work)
    if hypervisor_client.hypervisor(work.runtime).observe(hypervisor_client.domain(instance)).power != "absent":
        return None
    return define_first.run(work)


@tx_step(weight=1)
def begin_restoring(ctx: Context, work: StepContext) -> Sleep | None:
    """An instance that starts as a backup is seen to be restored."""
    if any(plan.backup_id is not None for plan in work.args.disks):
        states.show(ctx, work.args.instance_id, "restoring")
    return None


@tx_step(weight=5)
def hand_over(ctx: Context, work: StepContext) -> Sleep | None:
    """The instance is there: off, or about to boot."""
    instance = store.get_unscoped(ctx, work.args.instance_id)
    states.show(ctx, instance.id, "offline")
    config = next((one for one in configs.of(ctx, instance.id) if one.id == work.args.boot_config), None)
    if config is not None:
        args = BootArgs(instance.id, config.id)
        shown = replace(instance, status="offline")
        states.start_job(ctx, BOOT, shown, args, secondary=configs.entity(config), after=work.operation)
    return None


CREATE = Job(
    operation=Operation(
        kind="compute_create",
        args=DeployArgs,
        steps=(place, begin_restoring, make_disks, seed_root, define_first, hand_over),
        failed=look_again,
        erased=("seed",),
    ),
    action="compute_create",
    accepts=(),
    creates=True,
    during="provisioning",
    later=("restoring",),
)

JOBS = (CREATE,)
