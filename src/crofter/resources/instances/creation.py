"""Creating an instance: everything that is checked first, and everything that is then written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec import Struct

from crofter.context import Context
from crofter.db import Clash
from crofter.errors import Forbidden, Invalid, Reason
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances import costs, deployment, rules, states, store
from crofter.resources.instances.backups import operations as saving
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.operations.deploy import CREATE, DeployArgs
from crofter.resources.instances.shapes import InstanceCreate, InstanceView
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.regions.store import Region
from crofter.resources.tags import rules as tagging
from crofter.resources.types import store as types
from crofter.resources.types.store import Type
from crofter.resources.users.store import grant

Offer = TypeVar("Offer", Type, Region, Image)

NO_TYPE = "A valid plan type by that ID was not found"
CAPABILITY = "Computes"


class Plan(Struct):
    """A body whose names have become things."""

    type: Type
    region: Region
    image: Image | None
    backup: Backup | None


def create(ctx: Context, body: InstanceCreate) -> InstanceView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    plan = _plan(ctx, body)
    instance = _insert(ctx, body, plan)
    ips.allocate(ctx, instance.id, plan.region.slug, public=True)
    if body.private_ip:
        ips.allocate(ctx, instance.id, plan.region.slug, public=False)
    if body.tags:
        tagging.put_on(ctx, store.KIND, instance.id, body.tags)
    if ctx.actor.restricted:
        ctx.db.insert(grant, user_id=ctx.actor.user_id, kind=store.KIND, object_id=instance.id, level="read_write")
    if instance.backups_enabled:
        schedule.begin(ctx, instance.id)
    args = _written_down(ctx, body, plan, instance)
    secondary = None if plan.image is None else Entity("image", plan.image.slug, plan.image.label, None)
    states.follow(ctx, CREATE, instance, args, secondary=secondary)
    return rules.view(ctx, store.one(ctx, instance.id))


def bare(ctx: Context, body: InstanceCreate) -> Instance:
    """An instance with nothing on it yet, for something else to fill."""
    return _insert(ctx, body, _plan(ctx, body))


def _plan(ctx: Context, body: InstanceCreate) -> Plan:
    plan_type = _offered(types.find(ctx, body.type))
    region = _offered(regions.find(ctx, body.region))
    image = _offered(images.find(ctx, body.image)) if body.image else None
    backup = backups.find(ctx, body.backup_id) if body.backup_id else None
    reasons = [
        *_about_place(ctx, plan_type, region),
        *_about_source(body, image, backup),
        *(_about_room(body, plan_type, image, backup) if plan_type else ()),
        *deployment.complaints(ctx, body, image),
        *(vlans.complaints(ctx, region, body.interfaces) if region else ()),
    ]
    if reasons:
        raise Invalid.all(reasons)
    assert plan_type is not None
    assert region is not None
    return Plan(plan_type, region, image, backup)


def _offered(found: Offer | None) -> Offer | None:
    return found if found is not None and found.offered else None


def _about_place(ctx: Context, plan_type: Type | None, region: Region | None) -> Iterator[Reason]:
    usable = plan_type is not None and (not plan_type.deprecated or ctx.world.settings.sandbox)
    if not usable:
        yield Reason(NO_TYPE, "type")
    if region is None or CAPABILITY not in region.capabilities:
        yield Reason("region is not valid", "region")
    elif usable and plan_type is not None and plan_type.gpus and "GPU Computes" not in region.capabilities:
        yield Reason("The selected plan is not available in this region", "region")


def _about_source(body: InstanceCreate, image: Image | None, backup: Backup | None) -> Iterator[Reason]:
    if body.image is not None and (image is None or image.status != "available"):
        yield Reason("image is not valid", "image")
    if body.image is None and body.stackscript_id is not None:
        yield Reason("image is required", "image")
    if body.image is not None and body.backup_id is not None:
        yield Reason("Cannot be combined with image", "backup_id")
    elif body.backup_id is not None and (backup is None or backup.status != "successful"):
        yield Reason("backup_id is not valid", "backup_id")
    elif backup is not None and backup.region != body.region:
        yield Reason("The backup is in another region", "backup_id")


def _about_room(body: InstanceCreate, plan_type: Type, image: Image | None, backup: Backup | None) -> Iterator[Reason]:
    if image is not None and image.size + body.swap_size > plan_type.disk:
        yield Reason("Insufficient space: the plan cannot hold the image and the swap disk", "swap_size")
    if backup is not None and sum(disk["size"] for disk in backup.disks) > plan_type.disk:
        yield Reason("Insufficient space: the plan cannot hold the disks of the backup", "type")


def _insert(ctx: Context, body: InstanceCreate, plan: Plan) -> Instance:
    deploying = plan.image is not None or plan.backup is not None
    enabled = body.backups_enabled
    if enabled is None:
        enabled = accounts.backups_enabled(ctx)
    values = {
        "group_label": body.group,
        "region": plan.region.slug,
        "type": plan.type.slug,
        "image": body.image,
        "status": "provisioning" if deploying else "offline",
        "vcpus": plan.type.vcpus,
        "memory": plan.type.memory,
        "disk": plan.type.disk,
        "transfer": plan.type.transfer,
        "gpus": plan.type.gpus,
        "alerts": default_alerts(plan.type.vcpus),
        "backups_enabled": enabled,
        "backup_day": "Scheduling" if enabled else None,
        "backup_window": "Scheduling" if enabled else None,
    }
    made = insert(ctx, body.label, values)
    costs.begin(ctx, made, plan.type)
    return made


def insert(ctx: Context, label: str | None, values: Mapping[str, object]) -> Instance:
    """A new row; without a label it is called after its number."""
    # Every row has a label of its own from the start; nobody sees this one.
    first = label or f"new-{ctx.dice.hex(24)}"
    defaults = {"watchdog_enabled": True, "migration_pending": False, "created": ctx.moment, "updated": ctx.moment}
    try:
        number = ctx.db.insert(store.instance, account_id=ctx.account_id, label=first, **defaults, **values)
    except Clash:
        raise Invalid(rules.TAKEN, field="label") from None
    changes = {"ipv6": ips.slaac(str(values["region"]), number)}
    if label is None:
        changes["label"] = _free_label(ctx, f"compute{number}")
    ctx.db.update(store.instance, {"id": number}, **changes)
    return store.one(ctx, number)


def _free_label(ctx: Context, wanted: str) -> str:
    taken = {label for _, label in store.labels(ctx)} if store.has_label(ctx, wanted) else set()
    candidate, number = wanted, 1
    while candidate in taken:
        number += 1
        candidate = f"{wanted}-{number}"
    return candidate


def default_alerts(vcpus: int) -> dict[str, int]:
    return {"cpu": 90 * vcpus, "io": 10000, "network_in": 10, "network_out": 10, "transfer_quota": 80}


def _written_down(ctx: Context, body: InstanceCreate, plan: Plan, instance: Instance) -> DeployArgs:
    """Disks and profile as rows, before anything is made of them."""
    if plan.image is not None:
        return deployment.from_image(ctx, instance, plan.image, body)
    if plan.backup is not None:
        return from_backup(ctx, instance, plan.backup, booted=body.booted)
    return DeployArgs(instance.id)


def from_backup(ctx: Context, instance: Instance, backup: Backup, *, booted: bool) -> DeployArgs:
    """The disks and profiles that the backup remembers, under new numbers."""
    plans, made = saving.write_down(ctx, instance, backup)
    boot = made[0].id if booted and made else None
    return DeployArgs(instance.id, disks=plans, boot_config=boot)
