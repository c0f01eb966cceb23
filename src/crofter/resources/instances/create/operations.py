"""Putting an instance onto a host with its disks, as creating it does and rebuilding it does again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    ImageRef,
    Seed,
    Source,
)
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.resources.account import store as accounts
from crofter.resources.images.store import Image
from crofter.resources.instances import hypervisor_client, root_disk, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.configs.networks import tell_of_networks
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.looking import look_again
from crofter.resources.instances.power.operations import BOOT, BootArgs, define_as, place
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions

DEPLOYED_KERNEL = "compute/grub2"
SWAP = 512


class DiskPlan(Struct, frozen=True):
    """A disk to create: its number and source."""

    disk_id: int
    image: str | None = None
    minimum: int = 0
    backup_id: int | None = None
    backup_host: int | None = None
    backup_disk: int | None = None
    disk_host: int | None = None
    from_disk: int | None = None
    image_id: int | None = None
    """Number of a private image, and the host that stores it."""
    image_host: int | None = None


class Layout(Struct, frozen=True):
    """Disks to make, the one that root lives on, and the profile to boot."""

    disks: list[DiskPlan]
    root_id: int
    config_id: int


class DeployArgs(Struct, frozen=True):
    instance_id: int
    disks: list[DiskPlan] = []
    seed: str | None = None
    """A sealed SeedPlan, in hexadecimal; erased when the operation ends."""
    boot_config: int | None = None
    """Profile to boot afterwards."""
    stackscript_id: int | None = None
    """Counted for the instance when a disk has been deployed with it."""


# rows written before any work


def clear(ctx: Context, instance: Instance) -> None:
    """Forget all disks and profiles, to make way for others."""
    if instance.booted_config is not None:
        tell_of_networks(ctx, instance, configs.find(ctx, instance.id, instance.booted_config), None)
        ctx.db.update(store.instance, {"id": instance.id}, booted_config=None)
    ctx.db.delete(disks.disk, instance_id=instance.id)
    ctx.db.delete(configs.config, instance_id=instance.id)


def from_image(
    ctx: Context, instance: Instance, image: Image, *, swap_size: int = SWAP, interfaces: Sequence[Any] = ()
) -> Layout:
    root = disks.insert(
        ctx,
        instance.id,
        label=f"{image.label} Disk"[:48],
        size=instance.disk - swap_size,
        filesystem=image.filesystem,
        image=image.slug,
    )
    plans = [plan_for(root.id, image)]
    devices = {"sda": {"disk_id": root.id}}
    if swap_size:
        swap = disks.insert(ctx, instance.id, label=f"{swap_size} MB Swap Image", size=swap_size, filesystem="swap")
        plans.append(DiskPlan(swap.id))
        devices["sdb"] = {"disk_id": swap.id}
    config = configs.insert(
        ctx,
        instance.id,
        label=f"My {image.label} Disk Profile"[:48],
        devices=devices,
        kernel=DEPLOYED_KERNEL,
        helpers=configs.default_helpers(network=accounts.network_helper(ctx)),
        memory_limit=instance.memory,
        interfaces=vlans.kept(interfaces),
    )
    vlans.follow(ctx, instance.region, config)
    return Layout(plans, root.id, config.id)


def plan_for(disk_id: int, image: Image) -> DiskPlan:
    """A disk that starts as an image of the catalogue, or as one of the account, which is on some host."""
    own = None if image.is_public else image.id
    return DiskPlan(disk_id, image=image.slug, minimum=image.size, image_id=own, image_host=image.host)


def config_again(ctx: Context, instance: Instance, kept: dict[str, Any], numbers: dict[int, int]) -> configs.Config:
    """A remembered profile, with the new numbers of its disks; slots of others stay empty."""
    devices: dict[str, dict[str, int | None]] = {}
    for slot, device in kept["devices"].items():
        number = numbers.get(device.get("disk_id"))
        if number is not None:
            devices[slot] = {"disk_id": number}
    more = {name: kept[name] for name in configs.KEPT if name != "devices"}
    more["memory_limit"] = min(kept["memory_limit"], instance.memory)
    made = configs.insert(ctx, instance.id, devices=devices, **more)
    region = regions.find(ctx, instance.region)
    if region is not None and vlans.CAPABILITY in region.capabilities:
        vlans.follow(ctx, instance.region, made)
    return made


# ---- steps ----------------------------------------------------------------------------------------------------------


def source(plan: DiskPlan) -> Source:
    """Return the source of a disk for the hypervisor."""
    if plan.image is not None and plan.image_id is None:
        return FromImage(plan.image, plan.minimum)
    if plan.image is not None and plan.image_id is not None:
        if plan.image_host is None:
            raise Failed("The image is on no host.")
        return FromImage(plan.image, plan.minimum, ImageRef(plan.image_host, plan.image_id))
    if plan.backup_id is not None and plan.backup_host is not None and plan.backup_disk is not None:
        return FromBackup(BackupRef(plan.backup_host, plan.backup_id), plan.backup_disk)
    if plan.from_disk is not None and plan.disk_host is not None:
        return FromDisk(DiskRef(plan.disk_host, plan.from_disk))
    return Empty()


@step(weight=65)
def make_disks(work: StepContext) -> Sleep | None:
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        known = {disk.id: disk for disk in disks.of(ctx, instance.id)}
    driver = hypervisor_client.hypervisor(work.runtime)

    def make(plan: DiskPlan) -> hypervisor_client.Call:
        disk = known[plan.disk_id]
        wanted = DiskSpec(disk.size, disk.filesystem)  # type: ignore[arg-type]
        return lambda order: driver.ensure_disk(hypervisor_client.disk_ref(instance, disk), wanted, source(plan), order)

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
    plans: list[DiskPlan] = work.args.disks
    return plans


def _ready(ctx: Context, ids: list[int]) -> None:
    for disk_id in ids:
        ctx.db.update(disks.disk, {"id": disk_id}, status="ready", updated=ctx.moment)


@step(weight=15)
def seed_root(work: StepContext) -> Sleep | None:
    """Write password and keys onto the root disk, which nothing uses yet."""
    if work.args.seed is None:
        return None
    instance = hypervisor_client.current(work)
    plan = root_disk.opened(work)
    wanted = Seed(password=plan.password, keys=tuple(plan.keys), hostname=instance.label, script=plan.script)
    root = hypervisor_client.disk_ref(instance, int(work.vars.get("root_id", plan.disk_id)))
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_seed(root, wanted, order)])


@step(weight=10)
def define_first(work: StepContext) -> Sleep | None:
    """Make the machine known to its host, so that it can be looked at from now on."""
    with work.read() as ctx:
        profiles = configs.of(ctx, work.args.instance_id)
    return define_as(work, profiles[0].id if profiles else None)


@step(weight=5)
def define_if_new(work: StepContext) -> Sleep | None:
    """An instance whose first disk this is becomes known to its host; any other is left alone."""
    if "is_new" not in work.vars:
        instance = hypervisor_client.current(work)
        if hypervisor_client.hypervisor(work.runtime).observe(hypervisor_client.domain_ref(instance)).power != "absent":
            return None
        # Written down first: from its order on a machine is not absent any more, whether it was carried out or not.
        work.vars["is_new"] = True
        return Sleep(0)
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
    config = next((profile for profile in configs.of(ctx, instance.id) if profile.id == work.args.boot_config), None)
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
