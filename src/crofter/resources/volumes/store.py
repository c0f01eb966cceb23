"""Storage of volumes and attachments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Flag, Id, Moment, Row, among, identity, owned, partial_index, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ForeignKey,
    Index,
    Integer,
    Select,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    or_,
    select,
    text,
    true,
    update,
)
from crofter.db.tally import Tally
from crofter.drivers.hypervisor import VolumeRef
from crofter.drivers.hypervisor.specs import volume_serial
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.instances.store import Instance, instance
from crofter.resources.tags import store as tags
from crofter.resources.users.store import by_restricted
from crofter.resources.volumes.shapes import VolumeView

KIND = "volume"
PATH = "/dev/disk/by-id/scsi-0Compute_Volume_"
REAL_PATH = "/dev/disk/by-id/virtio-"
"""Made by udev in the guest of a real machine, from the serial number of the disk."""
TAKEN = "Label must be unique among your Volumes"
PASSING = "status <> 'active' AND status <> 'contact_support'"

volume = table(
    "volume",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("size", Integer, nullable=False),  # GB
    Column("region", Text, nullable=False),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="SET NULL"), index=True),
    # True if the attachment is part of a configuration profile; otherwise it ends with the next boot.
    Column("persistent", Flag, nullable=False, server_default=true()),
    Column("status", Text, nullable=False),
    Column("hardware_type", Text, nullable=False, server_default="nvme"),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("label", "account_id"),  # in this order it tempts no search by account alone
    Index("ix_volume_account_id", "account_id", "id"),
    Index("ix_volume_label", "account_id", text("lower(label)"), "id"),
    # The few volumes with expected work in progress.
    partial_index("ix_volume_passing", "id", where=PASSING),
)
VOLUMES = Tally(volume)


class Volume(Row):
    id: int
    account_id: int
    label: str
    size: int
    region: str
    instance_id: int | None
    persistent: bool
    status: str
    hardware_type: str
    created: str
    updated: str
    instance_label: str | None = None

    @property
    def ref(self) -> VolumeRef:
        return VolumeRef(self.region, self.id)


_ROWS = select(
    *(volume.c[name] for name in Volume.__struct_fields__ if name != "instance_label"),
    instance.c.label.label("instance_label"),
).outerjoin(instance, instance.c.id == volume.c.instance_id)
_SHOWN = _ROWS.where(volume.c.account_id == bindparam("account_id"))
_OF = _SHOWN.where(volume.c.instance_id == bindparam("instance_id"))


def _collection(statement: Select[Any], tally: Tally | None = None) -> Collection[Volume]:
    names = ("created", "hardware_type", "id", "label", "region", "size", "status", "updated")
    columns: dict[str, Any] = {name: volume.c[name] for name in names}
    columns |= {"compute_id": volume.c.instance_id, "tags": tags.field_of(KIND, volume.c.id)}
    return Collection(VolumeView, statement, Volume, key=volume.c.id, columns=columns, tally=tally)


ALL = by_restricted(_collection(_SHOWN, VOLUMES), KIND)
OF_INSTANCE = by_restricted(_collection(_OF), KIND)
_ONE = query(_SHOWN.where(volume.c.id == bindparam("id")), Volume)
_ANYONES = query(_ROWS.where(volume.c.id == bindparam("id")), Volume)
_THESE = query(_SHOWN.where(among(volume.c.id, "ids")), Volume)
_LABEL = query(
    select(volume.c.id).where(volume.c.account_id == bindparam("account_id"), volume.c.label == bindparam("label"))
)
_USABLE = query(
    select(volume.c.id).where(
        volume.c.account_id == bindparam("account_id"),
        volume.c.id == bindparam("volume_id"),
        volume.c.region == bindparam("region"),
        or_(volume.c.instance_id.is_(None), volume.c.instance_id == bindparam("instance_id")),
    )
)
_ATTACHED = query(_ROWS.where(volume.c.instance_id == bindparam("instance_id")).order_by(volume.c.id), Volume)
# Conditions of their own beside the rules: what another transaction has changed meanwhile is not undone.
_CLAIM = query(
    update(volume)
    .where(volume.c.id == bindparam("number"), volume.c.instance_id.is_(None))
    .values(instance_id=bindparam("holder"), persistent=bindparam("stays"), updated=bindparam("moment"))
)
_FREE = query(
    update(volume)
    .where(volume.c.id == bindparam("number"), volume.c.instance_id == bindparam("holder"))
    .values(instance_id=None, persistent=True, updated=bindparam("moment"))
)
_DELETE_FREE = query(delete(volume).where(volume.c.id == bindparam("number"), volume.c.instance_id.is_(None)))


def one(ctx: Context, volume_id: int) -> Volume:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=volume_id)


def find_unscoped(ctx: Context, volume_id: int) -> Volume | None:
    """The volume as it is now, if it is still there; for steps of operations."""
    return ctx.db.maybe(_ANYONES, id=volume_id)


def these(ctx: Context, ids: Sequence[int]) -> list[Volume]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def attached(ctx: Context, instance_id: int) -> list[Volume]:
    return ctx.db.all(_ATTACHED, instance_id=instance_id)


def has_label(ctx: Context, label: str) -> bool:
    return ctx.db.value(_LABEL, account_id=ctx.account_id, label=label) is not None


def usable(ctx: Context, volume_id: int, row: Instance) -> bool:
    """True if a profile of the instance may name the volume: same account, same region, not attached elsewhere."""
    values = {"account_id": ctx.account_id, "region": row.region, "instance_id": row.id}
    return ctx.db.value(_USABLE, volume_id=volume_id, **values) is not None


# ---- writing --------------------------------------------------------------------------------------------------------


def insert(ctx: Context, *, label: str, size: int, region: str, instance_id: int | None = None) -> Volume:
    """A volume that is written down and not made yet."""
    values: dict[str, Any] = {
        "account_id": ctx.account_id,
        "label": label,
        "size": size,
        "region": region,
        "instance_id": instance_id,
        "persistent": True,
        "status": "creating",
        "hardware_type": "nvme",
        "created": ctx.moment,
        "updated": ctx.moment,
    }
    try:
        return Volume(ctx.db.insert(volume, **values), **values)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None


def change(ctx: Context, volume_id: int, **values: Any) -> None:
    try:
        ctx.db.update(volume, {"id": volume_id}, **values, updated=ctx.moment)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None


def show(ctx: Context, volume_id: int, status: str) -> None:
    change(ctx, volume_id, status=status)


def claim(ctx: Context, volume_id: int, instance_id: int, *, persistent: bool) -> bool:
    """Give a free volume to an instance; False if it is not free."""
    values = {"number": volume_id, "holder": instance_id, "stays": persistent, "moment": ctx.moment}
    return bool(ctx.db.run(_CLAIM, **values))


def free(ctx: Context, volume_id: int, instance_id: int) -> bool:
    """Take a volume from the instance that has it; False if that does not have it."""
    return bool(ctx.db.run(_FREE, number=volume_id, holder=instance_id, moment=ctx.moment))


def delete_free(ctx: Context, volume_id: int) -> bool:
    """Delete the row of a volume that is attached to nothing."""
    return bool(ctx.db.run(_DELETE_FREE, number=volume_id))


# ---- showing --------------------------------------------------------------------------------------------------------


def entity(row: Volume) -> Entity:
    return Entity(KIND, row.id, row.label, f"/v4/volumes/{row.id}")


def views(ctx: Context, rows: Sequence[Volume]) -> list[VolumeView]:
    labels = tags.labels(ctx, KIND, [row.id for row in rows]) if rows else {}
    real = ctx.runtime.settings.real_regions({row.region for row in rows})
    return [_view(row, labels.get(row.id, []), real=row.region in real) for row in rows]


def view_now(ctx: Context, volume_id: int) -> VolumeView:
    (view,) = views(ctx, [one(ctx, volume_id)])
    return view


def _view(row: Volume, labels: list[str], *, real: bool) -> VolumeView:
    return VolumeView(
        compute_id=row.instance_id,
        compute_label=row.instance_label,
        created=row.created,
        filesystem_path=REAL_PATH + volume_serial(row.id) if real else PATH + row.label,
        hardware_type=row.hardware_type,  # type: ignore[arg-type]
        id=row.id,
        label=row.label,
        region=row.region,
        size=row.size,
        status=row.status,  # type: ignore[arg-type]
        tags=labels,
        updated=row.updated,
    )
