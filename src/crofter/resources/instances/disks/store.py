"""Disks."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Id, Moment, Row, identity, owned, query, table
from crofter.db.sql import CheckConstraint, Column, ForeignKey, Index, Integer, Text, bindparam, func, select
from crofter.kinds import Entity

disk = table(
    "disk",
    identity(),
    owned(),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False),
    Column("label", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("filesystem", Text, nullable=False),
    Column("status", Text, nullable=False),
    # Size counted against the plan's storage: the larger of the present and the future size.
    Column("reserved", Integer, nullable=False),
    Column("image", Text),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    CheckConstraint("size > 0 AND reserved >= size", name="size"),
    Index("ix_disk_instance_id", "instance_id", "id"),
)


class Disk(Row):
    id: int
    account_id: int
    instance_id: int
    label: str
    size: int
    filesystem: str
    status: str
    reserved: int
    image: str | None
    created: str
    updated: str


ALL = select(disk)
_OF = query(ALL.where(disk.c.instance_id == bindparam("instance_id")).order_by(disk.c.id), Disk)
_ONE = query(
    ALL.where(
        disk.c.account_id == bindparam("account_id"),
        disk.c.instance_id == bindparam("instance_id"),
        disk.c.id == bindparam("id"),
    ),
    Disk,
)
_OWNED = query(ALL.where(disk.c.account_id == bindparam("account_id"), disk.c.id == bindparam("id")), Disk)
_RESERVED = query(
    select(func.coalesce(func.sum(disk.c.reserved), 0)).where(disk.c.instance_id == bindparam("instance_id"))
)


def ask_ahead(ctx: Context, instance_id: int) -> None:
    """Prefetch the disks of this instance."""
    ctx.db.ask_ahead(_OF, instance_id=instance_id)


def of(ctx: Context, instance_id: int) -> list[Disk]:
    return ctx.db.all(_OF, instance_id=instance_id)


def one(ctx: Context, compute_id: int, disk_id: int) -> Disk:
    return ctx.db.one(_ONE, account_id=ctx.account_id, instance_id=compute_id, id=disk_id)


def find(ctx: Context, compute_id: int, disk_id: int) -> Disk | None:
    return ctx.db.maybe(_ONE, account_id=ctx.account_id, instance_id=compute_id, id=disk_id)


def owned_by_account(ctx: Context, disk_id: int) -> Disk | None:
    """A disk of any instance of the account."""
    return ctx.db.maybe(_OWNED, account_id=ctx.account_id, id=disk_id)


def reserved(ctx: Context, instance_id: int) -> int:
    """MB of the plan's storage that disks have taken, those under way included."""
    return int(ctx.db.value(_RESERVED, instance_id=instance_id))


def insert(ctx: Context, instance_id: int, *, label: str, size: int, filesystem: str, image: str | None = None) -> Disk:
    """A disk that is written down and not made yet."""
    values = {
        "account_id": ctx.account_id,
        "instance_id": instance_id,
        "label": label,
        "size": size,
        "filesystem": filesystem,
        "status": "not ready",
        "reserved": size,
        "image": image,
        "created": ctx.moment,
        "updated": ctx.moment,
    }
    return Disk(ctx.db.insert(disk, **values), **values)  # type: ignore[arg-type]


def entity(row: Disk) -> Entity:
    return Entity("disk", row.id, row.label, f"/v4/compute/instances/{row.instance_id}/disks/{row.id}")
