"""How much disk a plan gives, and what may be done to each."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances import root_disk, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.create.operations import DeployArgs, DiskPlan, plan_for
from crofter.resources.instances.disks import operations
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.operations import CopyArgs, DiskArgs
from crofter.resources.instances.disks.shapes import DiskCreate, DiskUpdate, DiskView
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.root_disk import SeedPlan, sealed
from crofter.resources.instances.store import Instance
from crofter.shapes import UNSET

NO_SPACE = "Insufficient space: the disks of this Compute would be larger than its plan allows."
NO_SYSTEM = ("raw", "swap", "initrd")
POWERED_OFF = "Compute must be powered off in order to reset root password."


def view(disk: Disk) -> DiskView:
    return DiskView(disk.created, disk.filesystem, disk.id, disk.label, disk.size, disk.status, disk.updated)  # type: ignore[arg-type]


def create(ctx: Context, instance: Instance, body: DiskCreate) -> DiskView:
    image = images.offered(ctx, body.image)
    refuse(body, [*_about_disk(body, image), *root_disk.complaints(ctx, body, image)])
    states.must_be_idle(ctx, instance)
    _must_fit(ctx, instance, body.size)
    filesystem = body.filesystem or (image.filesystem if image else "ext4")
    label = body.label or f"{image.label if image else 'New'} Disk"[:48]
    disk = disks.insert(
        ctx, instance.id, label=label, size=body.size, filesystem=filesystem, image=image.slug if image else None
    )
    plan = plan_for(disk.id, image) if image else DiskPlan(disk.id)
    seed = root_disk.seed(ctx, instance.id, disk.id, body) if image else None
    args = DeployArgs(instance.id, disks=[plan], seed=seed, stackscript_id=body.stackscript_id)
    states.start_job(ctx, operations.CREATE, instance, args, secondary=disks.entity(disk))
    return view(disk)


def _about_disk(body: DiskCreate, image: Image | None) -> Iterator[Reason]:
    if body.image is None:
        if body.label is None:
            yield Reason("label is required", "label")
        if body.stackscript_id is not None:
            yield Reason("image is required", "image")
        return
    if image is None or image.status != "available":
        yield Reason("image is not valid", "image")
        return
    if body.size < image.size:
        yield Reason(f"Must be at least {image.size}", "size")
    if body.filesystem in NO_SYSTEM and (image.is_public or body.filesystem != "raw"):
        yield Reason("An image cannot be deployed to such a disk", "filesystem")


def _must_fit(ctx: Context, instance: Instance, size: int) -> None:
    if disks.reserved(ctx, instance.id) + size > instance.disk:
        raise Invalid(NO_SPACE)


def update(ctx: Context, instance: Instance, disk: Disk, body: DiskUpdate) -> DiskView:
    """Only the label changes; what is on the disk is changed by a resize."""
    if body.label is not UNSET:
        ctx.db.update(disks.disk, {"id": disk.id}, label=body.label, updated=ctx.moment)
    changed = disks.one(ctx, instance.id, disk.id)
    record(ctx, "disk_update", store.entity(instance), disks.entity(changed))
    return view(changed)


def delete(ctx: Context, instance: Instance, disk: Disk) -> None:
    if in_use(ctx, instance, disk.id):
        raise Invalid("The disk is in use by the booted configuration profile.")
    states.must_be_idle(ctx, instance)
    ctx.db.update(disks.disk, {"id": disk.id}, status="deleting", updated=ctx.moment)
    states.start_job(ctx, operations.DELETE, instance, DiskArgs(instance.id, disk.id), secondary=disks.entity(disk))


def in_use(ctx: Context, instance: Instance, disk_id: int) -> bool:
    """True if the machine is on and its profile contains the disk."""
    if instance.status != "running" or instance.booted_config is None:
        return False
    booted = configs.find(ctx, instance.id, instance.booted_config)
    return booted is not None and disk_id in booted.disks


def clone(ctx: Context, instance: Instance, disk: Disk) -> DiskView:
    states.must_be_idle(ctx, instance)
    _must_be_ready(disk)
    _must_fit(ctx, instance, disk.size)
    made = disks.insert(
        ctx,
        instance.id,
        label=f"Copy of {disk.label}"[:48],
        size=disk.size,
        filesystem=disk.filesystem,
        image=disk.image,
    )
    args = CopyArgs(instance.id, made.id, disk.id)
    states.start_job(ctx, operations.COPY, instance, args, secondary=disks.entity(made))
    return view(made)


def resize(ctx: Context, instance: Instance, disk: Disk, size: int) -> None:
    """Accepted even while the disk is in use: then the job fails, and the size stays."""
    states.must_be_idle(ctx, instance)
    _must_be_ready(disk)
    if size > disk.size:
        _must_fit(ctx, instance, size - disk.size)
    ctx.db.update(disks.disk, {"id": disk.id}, reserved=max(size, disk.size), status="not ready", updated=ctx.moment)
    args = DiskArgs(instance.id, disk.id, size)
    states.start_job(ctx, operations.RESIZE, instance, args, secondary=disks.entity(disk))


def _must_be_ready(disk: Disk) -> None:
    if disk.status != "ready":
        raise Invalid("The disk is not ready.")


def reset_password(ctx: Context, instance: Instance, disk: Disk | None, password: str, field: str) -> None:
    """Reset the password on the named disk, or on the only disk that can hold a root password."""
    root_disk.must_be_strong(password, field, ctx.actor.username, instance.label)
    if instance.status == "running":
        raise Invalid(POWERED_OFF)
    states.must_be_idle(ctx, instance, operations.PASSWORD.accepts)
    disk = disk or _root_disk(ctx, instance)
    if disk.filesystem == "swap":
        raise Invalid("A swap disk has no root password.")
    _must_be_ready(disk)
    seed = sealed(ctx, instance.id, SeedPlan(disk.id, password))
    states.start_job(
        ctx, operations.PASSWORD, instance, DeployArgs(instance.id, seed=seed), secondary=disks.entity(disk)
    )


def _root_disk(ctx: Context, instance: Instance) -> Disk:
    candidates = [disk for disk in disks.of(ctx, instance.id) if disk.filesystem != "swap"]
    if not candidates:
        raise Invalid("This Compute has no disk to reset the password of.")
    if len(candidates) > 1:
        raise Invalid("This Compute has more than one disk. Reset the password of one of them.")
    return candidates[0]
