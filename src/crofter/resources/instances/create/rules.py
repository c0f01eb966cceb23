"""Rules for new instances, and their initial parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from crofter.context import Context
from crofter.db import Duplicate, query
from crofter.db.sql import bindparam, select
from crofter.errors import Forbidden, Invalid, Reason
from crofter.kinds import Entity, inaccessible
from crofter.resources.account.store import account
from crofter.resources.billing.standing import COLUMNS, AccountStanding
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances import costs, neighbours, root_disk, rules, states, store, views
from crofter.resources.instances.backups import restoring, schedule
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.create import operations
from crofter.resources.instances.create.operations import CREATE, DeployArgs
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import InstanceCreate, InstanceView
from crofter.resources.instances.store import Instance
from crofter.resources.regions.store import Region, region
from crofter.resources.stackscripts import store as stackscripts
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.resources.types.store import Type, compute_type
from crofter.resources.users import access

NO_TYPE = "A valid plan type by that ID was not found"
CAPABILITY, GPUS = "Computes", "GPU Computes"


class Request(Struct):
    """A body whose names have become things."""

    type: Type
    region: Region
    account: AccountStanding
    image: Image | None = None
    backup: Backup | None = None


class Offer(NamedTuple):
    type: Type | None
    region: Region | None
    account: AccountStanding


_TYPE, _REGION = Type.__struct_fields__, Region.__struct_fields__


def _offer(*columns: Any) -> Offer:
    type_row, region_row = columns[: len(_TYPE)], columns[len(_TYPE) : len(_TYPE) + len(_REGION)]
    return Offer(
        _offered(Type(*type_row)), _offered(Region(*region_row)), AccountStanding(*columns[len(_TYPE) + len(_REGION) :])
    )


def _offered(row: Any) -> Any:
    """None if it is offered no more; or never was, and then there is nothing but nulls."""
    return row if row.offered else None


_OFFER = query(
    select(
        *(compute_type.c[name].label(f"type_{name}") for name in _TYPE),
        *(region.c[name].label(f"region_{name}") for name in _REGION),
        *COLUMNS,
    )
    .select_from(
        account.outerjoin(compute_type, compute_type.c.slug == bindparam("type")).outerjoin(
            region, region.c.slug == bindparam("region")
        )
    )
    .where(account.c.id == bindparam("account_id")),
    _offer,
)


def offer(ctx: Context, type_slug: str, region_slug: str) -> Offer:
    return ctx.db.one(_OFFER, account_id=ctx.account_id, type=type_slug, region=region_slug)


def create(ctx: Context, body: InstanceCreate) -> InstanceView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    request = _request(ctx, body)
    instance, addresses = begin(ctx, body, request)
    if request.image is not None:
        args = _from_image(ctx, instance, request.image, body)
        stackscripts.count_active(ctx, None, body.stackscript_id)
        secondary = Entity("image", request.image.slug, request.image.label, f"/v4/images/{request.image.slug}")
        states.start_job(ctx, CREATE, instance, args, secondary=secondary)
    elif request.backup is not None:
        states.start_job(ctx, CREATE, instance, _from_backup(ctx, instance, request.backup, booted=body.booted))
    else:
        # There is nothing to make yet: a host is found for it with its first disk.
        states.finish_at_once(ctx, CREATE, instance)
    if body.firewall_id is not None:
        neighbours.guard(ctx, instance, body.firewall_id)
    return views.view_new(ctx, instance, addresses, tags.labels_of(ctx, store.KIND, instance.id) if body.tags else [])


def begin(ctx: Context, body: InstanceCreate, request: Request | None = None) -> tuple[Instance, list[str]]:
    """An instance with all that it has from the start, and nothing on it yet; and its addresses."""
    request = request or _request(ctx, body)
    instance = _insert(ctx, body, request)
    addresses = [
        ips.allocate(ctx, instance.id, request.region.slug, public=public, position=position).address
        for position, public in enumerate((True, False) if body.private_ip else (True,), start=1)
    ]
    if body.tags:
        tagging.put_on(ctx, store.KIND, instance.id, body.tags)
    access.entrust(ctx, store.KIND, instance.id)
    costs.begin(ctx, instance, request.type, request.account)
    if instance.backups_enabled:
        schedule.begin(ctx, instance.id)
    return instance, addresses


def _request(ctx: Context, body: InstanceCreate) -> Request:
    plan_type, region, account = offer(ctx, body.type, body.region)
    image = images.offered(ctx, body.image)
    backup = _backup(ctx, body.backup_id) if body.backup_id else None
    refuse(
        body,
        [
            *about_place(ctx, plan_type, region),
            *_about_source(body, image, backup),
            *(_about_space(body, plan_type, image, backup) if plan_type else ()),
            *root_disk.complaints(ctx, body, image),
            *vlans.complaints(ctx, region, body.interfaces),
        ],
        lambda: rules.about_label(ctx, body.label),
    )
    assert plan_type is not None
    assert region is not None
    costs.must_be_paid_up(ctx, account)
    return Request(plan_type, region, account, image, backup)


def _backup(ctx: Context, backup_id: int) -> Backup | None:
    """A backup is everything that was on an instance, so it takes the right to do everything with that."""
    backup = backups.find(ctx, backup_id)
    if backup is not None and not access.permits(ctx, store.KIND, backup.instance_id, "read_write"):
        raise inaccessible(store.KIND, "backup_id")
    return backup


def about_place(ctx: Context, plan_type: Type | None, region: Region | None) -> Iterator[Reason]:
    usable = plan_type is not None and (not plan_type.deprecated or ctx.runtime.settings.sandbox)
    if not usable:
        yield Reason(NO_TYPE, "type")
    if region is None or CAPABILITY not in region.capabilities:
        yield Reason("region is not valid", "region")
    elif usable and plan_type is not None and plan_type.gpus and GPUS not in region.capabilities:
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


def _about_space(body: InstanceCreate, plan_type: Type, image: Image | None, backup: Backup | None) -> Iterator[Reason]:
    if image is not None and image.size + body.swap_size > plan_type.disk:
        yield Reason("Insufficient space: the plan cannot hold the image and the swap disk", "swap_size")
    if backup is not None and sum(disk["size"] for disk in backup.disks) > plan_type.disk:
        yield Reason("Insufficient space: the plan cannot hold the disks of the backup", "type")


def _insert(ctx: Context, body: InstanceCreate, request: Request) -> Instance:
    deploying = request.image is not None or request.backup is not None
    enabled = request.account.backups_enabled if body.backups_enabled is None else body.backups_enabled
    values = {
        "group_label": body.group,
        "region": request.region.slug,
        "type": request.type.slug,
        "image": body.image,
        "status": CREATE.during if deploying else "offline",
        "vcpus": request.type.vcpus,
        "memory": request.type.memory,
        "disk": request.type.disk,
        "transfer": request.type.transfer,
        "gpus": request.type.gpus,
        "alerts": default_alerts(request.type.vcpus),
        "watchdog_enabled": True,
        "backups_enabled": enabled,
        "backup_day": schedule.UNDECIDED if enabled else None,
        "backup_window": schedule.UNDECIDED if enabled else None,
        "migration_pending": False,
        "stackscript_id": body.stackscript_id,
    }
    return _labelled(ctx, body.label, values)


def _labelled(ctx: Context, label: str | None, values: Mapping[str, Any]) -> Instance:
    """A new row; without a label it is called after its number."""
    # Temporary unique label, replaced in this transaction.
    first = label or f"new-{ctx.rng.hex(24)}"
    row = {**values, "account_id": ctx.account_id, "label": first, "created": ctx.moment, "updated": ctx.moment}
    try:
        number = ctx.db.insert(store.instance, **row)
    except Duplicate:
        raise Invalid(rules.TAKEN, field="label") from None
    if label is None:
        row["label"] = _free_label(ctx, f"{ctx.runtime.default_label}{number}")
        ctx.db.update(store.instance, {"id": number}, label=row["label"])
    return store.made({**row, "id": number})


def _free_label(ctx: Context, wanted: str) -> str:
    candidate, number = wanted, 1
    while store.has_label(ctx, candidate):
        number += 1
        candidate = f"{wanted}-{number}"
    return candidate


def default_alerts(vcpus: int) -> dict[str, int]:
    return {"cpu": 90 * vcpus, "io": 10000, "network_in": 10, "network_out": 10, "transfer_quota": 80}


def _from_backup(ctx: Context, instance: Instance, backup: Backup, *, booted: bool) -> DeployArgs:
    """The disks and profiles that the backup remembers, under new numbers."""
    plans, made = restoring.write_down(ctx, instance, backup)
    return DeployArgs(instance.id, disks=plans, boot_config=made[0].id if booted and made else None)


def _from_image(ctx: Context, instance: Instance, image: Image, body: InstanceCreate) -> DeployArgs:
    """Everything that creating an instance from an image writes down."""
    planned = operations.from_image(ctx, instance, image, swap_size=body.swap_size, interfaces=body.interfaces)
    return DeployArgs(
        instance.id,
        disks=planned.disks,
        seed=root_disk.seed(ctx, instance.id, planned.root_id, body),
        boot_config=planned.config_id if body.booted else None,
    )
