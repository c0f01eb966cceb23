"""Turning an instance into something else: rebuild, resize, mutate, migrate, rescue."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.journal import record
from crofter.kinds import Entity
from crofter.resources.images import store as images
from crofter.resources.instances import deployment, rules, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import SLOTS
from crofter.resources.instances.configs.vlans import CAPABILITY as NEXT_GENERATION
from crofter.resources.instances.creation import NO_TYPE
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.operations import moving, power
from crofter.resources.instances.operations.moving import MoveArgs
from crofter.resources.instances.operations.power import RescueArgs
from crofter.resources.instances.operations.rebuild import REBUILD, RebuildArgs
from crofter.resources.instances.shapes import InstanceView, Migrate, Mutate, Rebuild, Rescue, Resize
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.regions.store import Region
from crofter.resources.types import store as types
from crofter.resources.types.store import Type
from crofter.resources.volumes import store as volumes

TOO_MUCH_DISK = "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller."
NO_UPGRADE = "This Compute has no upgrade available."


def rebuild(ctx: Context, instance: Instance, body: Rebuild) -> InstanceView:
    if body.image is None:
        raise Invalid("You must specify an image")
    image = images.find(ctx, body.image)
    if image is not None and not image.offered:
        image = None
    reasons = [*deployment.complaints(ctx, body, image)]
    if image is None or image.status != "available":
        reasons.insert(0, Reason("image is not valid", "image"))
    elif image.size + 512 > instance.disk:
        reasons.insert(0, Reason("Insufficient space: the plan cannot hold the image", "image"))
    if reasons:
        raise Invalid.all(reasons)
    assert image is not None
    states.must_be_idle(ctx, instance)
    args = RebuildArgs(instance.id, image.slug, deployment.seed(ctx, instance.id, 0, body), body.booted)
    states.follow(ctx, REBUILD, instance, args, secondary=Entity("image", image.slug, image.label))
    return rules.view(ctx, store.one(ctx, instance.id))


def resize(ctx: Context, instance: Instance, body: Resize) -> None:
    plan = types.find(ctx, body.type)
    if plan is None or not plan.offered or (plan.deprecated and not ctx.world.settings.sandbox):
        raise Invalid(NO_TYPE, field="type")
    if plan.slug == instance.type:
        raise Invalid("Compute is already running this service plan.")
    _must_fit(ctx, instance, plan, auto=body.allow_auto_disk_resize)
    _move(ctx, moving.RESIZE, instance, type=plan.slug, grow=body.allow_auto_disk_resize)


def mutate(ctx: Context, instance: Instance, body: Mutate) -> None:
    plan = _successor(ctx, instance)
    _must_fit(ctx, instance, plan, auto=body.allow_auto_disk_resize)
    _move(ctx, moving.MUTATE, instance, type=plan.slug, grow=body.allow_auto_disk_resize)


def _successor(ctx: Context, instance: Instance) -> Type:
    current = types.find(ctx, instance.type)
    found = types.find(ctx, current.successor) if current is not None and current.successor else None
    if found is None:
        raise Invalid(NO_UPGRADE)
    return found


def _must_fit(ctx: Context, instance: Instance, plan: Type, *, auto: bool) -> None:
    own = disks.of(ctx, instance.id)
    if sum(disk.size for disk in own) <= plan.disk:
        return
    data = moving.data_disk(own)
    if not auto or data is None or sum(disk.size for disk in own if disk.id != data.id) >= plan.disk:
        raise Invalid(TOO_MUCH_DISK)


def migrate(ctx: Context, instance: Instance, body: Migrate) -> None:
    """To another region, or to another host of the same one if such a move is pending."""
    upgrade = _successor(ctx, instance) if body.upgrade else None
    plan = upgrade.slug if upgrade else None
    if body.region is not None:
        region = regions.find(ctx, body.region)
        reasons = list(_about_region(ctx, instance, region))
        if reasons:
            raise Invalid.all(reasons)
        assert region is not None
        secondary = Entity("region", region.slug, region.slug, f"/v4/regions/{region.slug}")
        _move(ctx, moving.MIGRATE_REGION, instance, secondary, region=region.slug, type=plan)
    elif instance.migration_pending or upgrade is not None:
        _move(ctx, moving.MIGRATE, instance, type=plan)
    else:
        raise Invalid("There is no pending migration for this Compute.")


def _about_region(ctx: Context, instance: Instance, region: Region | None) -> Iterator[Reason]:
    if region is None or not region.offered or "Computes" not in region.capabilities:
        yield Reason("region is not valid", "region")
    elif region.slug == instance.region:
        yield Reason("The Compute is in this region already", "region")
    elif region.status != "ok":
        yield Reason("Cross data center migrations are currently disabled for this region", "region")
    elif NEXT_GENERATION in region.capabilities and _has_vlan(ctx, instance):
        yield Reason("A Compute with a VLAN cannot be migrated to this region", "region")


def _has_vlan(ctx: Context, instance: Instance) -> bool:
    return any(one["purpose"] == "vlan" for config in configs.of(ctx, instance.id) for one in config.interfaces)


def _move(
    ctx: Context,
    job: Job,
    instance: Instance,
    secondary: Entity | None = None,
    *,
    region: str | None = None,
    type: str | None = None,
    grow: bool = True,
) -> None:
    states.must_be_idle(ctx, instance)
    running = instance.status == "running"
    config = instance.booted_config if running else None
    if job.action != "compute_migrate":
        record(ctx, f"{job.action}_create", store.entity(instance), secondary)
    args = MoveArgs(instance.id, running, config, region=region, type=type, grow=grow)
    states.follow(ctx, job, instance, args, secondary=secondary)
    states.show(ctx, instance.id, "shutting_down" if running else "migrating")


def rescue(ctx: Context, instance: Instance, body: Rescue) -> None:
    reasons = list(_about_rescue_devices(ctx, instance, body))
    if reasons:
        raise Invalid.all(reasons)
    states.must_be_idle(ctx, instance)
    chosen = {
        slot: {"disk_id": device.disk_id} if device.disk_id else {"volume_id": device.volume_id}
        for slot, device in body.devices.items()
        if device is not None and (device.disk_id or device.volume_id)
    }
    args = RescueArgs(instance.id, chosen)  # type: ignore[arg-type]
    states.follow(ctx, power.RESCUE[instance.status], instance, args)


def _about_rescue_devices(ctx: Context, instance: Instance, body: Rescue) -> Iterator[Reason]:
    own = {disk.id for disk in disks.of(ctx, instance.id)}
    for slot, device in body.devices.items():
        path = f"devices.{slot}"
        if slot not in SLOTS[:-1]:
            yield Reason(f"Must be one of {', '.join(SLOTS[:-1])}", path)
        if device is None:
            continue
        if device.disk_id is not None and device.volume_id is not None:
            yield Reason("Only one of disk_id and volume_id may be set", path)
        if device.disk_id is not None and device.disk_id not in own:
            yield Reason("disk_id is not valid", f"{path}.disk_id")
        if device.volume_id is not None and not volumes.usable(ctx, device.volume_id, instance):
            yield Reason("volume_id is not valid", f"{path}.volume_id")
