"""Volumes, and what they are attached to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    Select,
    Text,
    UniqueConstraint,
    bindparam,
    exists,
    or_,
    select,
    true,
)

from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.kinds import Entity
from crofter.resources.instances.store import Instance, instance
from crofter.resources.tags import store as tags
from crofter.resources.users.store import grant
from crofter.resources.volumes.shapes import VolumeView

KIND = "volume"
PATH = "/dev/disk/by-id/scsi-0Compute_Volume_"

volume = table(
    "volume",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("size", Integer, nullable=False),  # GiB
    Column("region", Text, nullable=False),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="SET NULL"), index=True),
    # Whether the attachment is part of a configuration profile, or ends with the next boot.
    Column("persistent", Flag, nullable=False, server_default=true()),
    Column("status", Text, nullable=False),
    Column("hardware_type", Text, nullable=False, server_default="nvme"),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("account_id", "label"),
    Index("ix_volume_account_id", "account_id", "id"),
)


class Volume(Row):
    id: int
    account_id: int
    label: str
    size: int
    region: str
    instance_id: int | None
    status: str
    hardware_type: str
    created: str
    updated: str
    instance_label: str | None

    @property
    def path(self) -> str:
        return PATH + self.label


_SHOWN = (
    select(
        *(volume.c[name] for name in Volume.__struct_fields__ if name != "instance_label"),
        instance.c.label.label("instance_label"),
    )
    .outerjoin(instance, instance.c.id == volume.c.instance_id)
    .where(volume.c.account_id == bindparam("account_id"))
)
_OF = _SHOWN.where(volume.c.instance_id == bindparam("instance_id"))
_GRANTED = exists(
    select(grant.c.object_id).where(
        grant.c.user_id == bindparam("user_id"), grant.c.kind == KIND, grant.c.object_id == volume.c.id
    )
)


def _collection(statement: Select[Any]) -> Collection[Volume]:
    tagged = tags.field_of(KIND, volume.c.id)
    return Collection(VolumeView, statement, Volume, key=volume.c.id, columns={"label": volume.c.label, "tags": tagged})


_THESE = query(_SHOWN.where(among(volume.c.id, "ids")), Volume)
OF_INSTANCE = {False: _collection(_OF), True: _collection(_OF.where(_GRANTED))}
"""By whether the caller is restricted."""
_USABLE = query(
    select(volume.c.id).where(
        volume.c.account_id == bindparam("account_id"),
        volume.c.id == bindparam("volume_id"),
        volume.c.region == bindparam("region"),
        or_(volume.c.instance_id.is_(None), volume.c.instance_id == bindparam("instance_id")),
    )
)
_ATTACHED = query(
    select(volume.c.id, volume.c.label).where(volume.c.instance_id == bindparam("instance_id")).order_by(volume.c.id),
    lambda number, label: Entity(KIND, number, label, f"/v4/volumes/{number}"),
)


def these(ctx: Context, ids: Sequence[int]) -> list[Volume]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def views(ctx: Context, rows: Sequence[Volume]) -> list[VolumeView]:
    labels = tags.labels(ctx, KIND, [row.id for row in rows]) if rows else {}
    return [_view(row, labels.get(row.id, [])) for row in rows]


def _view(row: Volume, labels: list[str]) -> VolumeView:
    return VolumeView(
        compute_id=row.instance_id,
        compute_label=row.instance_label,
        created=row.created,
        filesystem_path=row.path,
        hardware_type=row.hardware_type,  # type: ignore[arg-type]
        id=row.id,
        label=row.label,
        region=row.region,
        size=row.size,
        status=row.status,  # type: ignore[arg-type]
        tags=labels,
        updated=row.updated,
    )


def attached(ctx: Context, instance_id: int) -> list[Entity]:
    """The volumes of an instance, by name."""
    return ctx.db.all(_ATTACHED, instance_id=instance_id)


def detach_all(ctx: Context, instance_id: int) -> list[Entity]:
    """Free every volume of an instance; which ones those were."""
    entities = attached(ctx, instance_id)
    if entities:
        ctx.db.update(volume, {"instance_id": instance_id}, instance_id=None, updated=ctx.moment)
    return entities


def usable(ctx: Context, volume_id: int, row: Instance) -> bool:
    """Whether a profile of the instance may name the volume: of the account, in its region, not another's."""
    values = {"account_id": ctx.account_id, "region": row.region, "instance_id": row.id}
    return ctx.db.value(_USABLE, volume_id=volume_id, **values) is not None
