"""Rules of volumes and their attachment."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.errors import Busy, Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.billing import prices
from crofter.resources.billing.standing import must_be_paid_up
from crofter.resources.instances import states
from crofter.resources.instances import store as instances
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import Config
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.resources.volumes import attaching, operations, store
from crofter.resources.volumes.attaching import AttachArgs
from crofter.resources.volumes.operations import VOLUMES, CloneArgs, CreateArgs, EraseArgs, ResizeArgs
from crofter.resources.volumes.shapes import (
    LARGEST,
    VolumeAttach,
    VolumeClone,
    VolumeCreate,
    VolumeResize,
    VolumeUpdate,
    VolumeView,
)
from crofter.resources.volumes.store import Volume
from crofter.shapes import UNSET

CAPABILITY = "Block Storage"
FEW, MOST = 8, 64
"""Volumes of an instance: at the slots of its profile, and however much memory it has."""
ATTACHED = "This volume must be detached before it can be deleted."


def create(ctx: Context, body: VolumeCreate) -> VolumeView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    instance = None if body.compute_id is None else _instance(ctx, body.compute_id)
    config = None if instance is None else _chosen(ctx, instance, body.config_id)
    reasons = [*_about_place(ctx, body, instance)]
    if instance is not None:
        reasons += _about_attaching(ctx, instance, body.config_id, config, persistent=True)
    refuse(body, reasons, lambda: _about_label(ctx, body.label))
    must_be_paid_up(ctx)
    if instance is not None:
        _must_be_attachable(ctx, instance)
    region = body.region or (instance.region if instance else "")
    volume = _begin(ctx, body.label, body.size, region, instance)
    if body.tags:
        tagging.put_on(ctx, store.KIND, volume.id, body.tags)
    args = CreateArgs(volume.id, body.compute_id, config.id if config else None, body.config_id is not None)
    secondary = None if instance is None else instances.entity(instance)
    VOLUMES.start_job(ctx, operations.CREATE, volume, args, secondary=secondary)
    return store.view_now(ctx, volume.id)


def _begin(ctx: Context, label: str, size: int, region: str, instance: Instance | None = None) -> Volume:
    """A volume with all that it has from the start."""
    volume = store.insert(
        ctx, label=label, size=size, region=region, instance_id=None if instance is None else instance.id
    )
    access.entrust(ctx, store.KIND, volume.id)
    prices.begin_volume(ctx, volume.id, label, size)
    return volume


def _instance(ctx: Context, compute_id: int) -> Instance:
    ctx.runtime.kinds.require(ctx, instances.KIND, [compute_id], "read_write", field="compute_id")
    return instances.one(ctx, compute_id)


def _about_place(ctx: Context, body: VolumeCreate, instance: Instance | None) -> Iterator[Reason]:
    if body.region is None and instance is None:
        yield Reason("Must provide a region or a Compute ID")
    if body.config_id is not None and instance is None:
        yield Reason("compute_id is required", "compute_id")
    if body.region is not None:
        region = regions.find(ctx, body.region)
        if region is None or not region.offered or CAPABILITY not in region.capabilities:
            yield Reason("region is not valid", "region")
        elif instance is not None and instance.region != body.region:
            yield Reason("The Compute is in another region", "region")
    elif instance is not None:
        region = regions.find(ctx, instance.region)
        if region is None or CAPABILITY not in region.capabilities:
            yield Reason("There is no block storage in the region of the Compute", "compute_id")


def _about_label(ctx: Context, label: str) -> Iterator[Reason]:
    """Pre-check for requests that already failed validation; other clashes are reported by the unique constraint."""
    if store.has_label(ctx, label):
        yield Reason(store.TAKEN, "label")


def update(ctx: Context, volume: Volume, body: VolumeUpdate) -> VolumeView:
    now = set(tags.labels_of(ctx, store.KIND, volume.id))
    labels = None if body.tags is UNSET or set(body.tags) == now else body.tags
    if labels is not None and ctx.actor.restricted:
        raise Forbidden
    if body.label is not UNSET and body.label != volume.label:
        store.change(ctx, volume.id, label=body.label)
        prices.rename_volume(ctx, volume.id, body.label, volume.size)
    else:
        store.change(ctx, volume.id)
    if labels is not None:
        tagging.put_on(ctx, store.KIND, volume.id, labels)
    record(ctx, "volume_update", store.entity(store.one(ctx, volume.id)))
    return store.view_now(ctx, volume.id)


# ---- attaching and detaching ----------------------------------------------------------------------------------------


def attach(ctx: Context, volume: Volume, body: VolumeAttach) -> VolumeView:
    instance = _instance(ctx, body.compute_id)
    if volume.instance_id is not None:
        raise Invalid("This volume is attached to a Compute already.")
    persistent = body.persist_across_boots
    config = _chosen(ctx, instance, body.config_id)
    elsewhere = Reason("The Compute is in another region than the volume", "compute_id")
    refuse(
        body,
        [
            *((elsewhere,) if instance.region != volume.region else ()),
            *_about_attaching(ctx, instance, body.config_id, config, persistent=persistent),
        ],
    )
    VOLUMES.must_be_idle(ctx, volume, ("active",))
    _must_be_attachable(ctx, instance)
    if not store.claim(ctx, volume.id, instance.id, persistent=persistent):
        raise Busy(operations.BUSY)
    chosen = config.id if persistent and config is not None else None
    args = AttachArgs(instance.id, volume.id, chosen, named=body.config_id is not None)
    about = store.entity(volume)
    states.start_job(ctx, attaching.ATTACH, instance, args, secondary=instances.entity(instance), entity=about)
    return store.view_now(ctx, volume.id)


def _must_be_attachable(ctx: Context, instance: Instance) -> None:
    """Refuse while the instance is being deleted. The attachment waits for anything else that is under way."""
    states.must_be_idle(ctx, instance, attaching.ATTACH.accepts, attaching.ATTACH.behind)


def _chosen(ctx: Context, instance: Instance, config_id: int | None) -> Config | None:
    """Return the profile that the request names, or the one that the instance boots with."""
    own = configs.of(ctx, instance.id)
    if config_id is not None:
        return next((config for config in own if config.id == config_id), None)
    return attaching.default_profile(instance, own)


def _about_attaching(
    ctx: Context, instance: Instance, config_id: int | None, config: Config | None, *, persistent: bool
) -> Iterator[Reason]:
    if config is None and config_id is not None:
        yield Reason("config_id is not valid", "config_id")
    held = store.attached(ctx, instance.id)
    if not persistent:
        most = max(FEW, min(MOST, instance.memory // 1024))
        if len(held) >= most:
            yield Reason(f"This Compute can have at most {most} volumes attached", "compute_id")
        if instance.status == "offline":
            yield Reason("The Compute must be running", "persist_across_boots")
        return
    if sum(volume.persistent for volume in held) >= FEW:
        yield Reason(f"A Compute can have at most {FEW} volumes attached", "compute_id")
    if config is None and config_id is None:
        yield Reason("No configuration profile could be chosen. Specify config_id.", "config_id")
    elif config is not None and attaching.free_slot(config) is None:
        yield Reason(attaching.NO_SLOT, "config_id")


def detach(ctx: Context, volume: Volume) -> None:
    if volume.instance_id is None:
        raise Invalid("This volume is not attached to a Compute.")
    if not access.permits(ctx, instances.KIND, volume.instance_id, "read_write"):
        raise Forbidden
    if volume.status == "creating":
        raise Busy(operations.BUSY)  # and attached only when it is there
    instance = instances.one(ctx, volume.instance_id)
    args, about = AttachArgs(instance.id, volume.id), store.entity(volume)
    states.start_job(ctx, attaching.DETACH, instance, args, secondary=instances.entity(instance), entity=about)


# ---- the rest -------------------------------------------------------------------------------------------------------


def resize(ctx: Context, volume: Volume, body: VolumeResize) -> None:
    if body.size > LARGEST:
        raise Invalid(f"Storage volumes cannot be resized larger than {LARGEST} gigabytes")
    if body.size <= volume.size:
        raise Invalid("Storage volumes can only be resized up")
    must_be_paid_up(ctx)
    VOLUMES.start_job(ctx, operations.RESIZE, volume, ResizeArgs(volume.id, body.size))


def clone(ctx: Context, source: Volume, body: VolumeClone) -> VolumeView:
    if not access.permits(ctx, store.KIND, source.id, "read_write"):
        raise Forbidden  # a clone is everything that is on it
    must_be_paid_up(ctx)
    VOLUMES.must_be_idle(ctx, source, operations.CLONE.accepts)
    volume = _begin(ctx, body.label, source.size, source.region)
    args = CloneArgs(volume.id, source.id)
    VOLUMES.start_job(ctx, operations.CLONE, source, args, secondary=store.entity(volume))
    return store.view_now(ctx, volume.id)


def delete(ctx: Context, volume: Volume) -> None:
    """Delete the volume now; its storage is freed in the background."""
    if volume.instance_id is not None:
        raise Invalid(ATTACHED)
    VOLUMES.start_job(ctx, operations.DELETE, volume, EraseArgs(volume.region, volume.id))
    operations.forget(ctx, volume)
    if not store.delete_free(ctx, volume.id):
        raise Invalid(ATTACHED)
