"""Backups."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.db import Id, Json, Moment, Row, identity, owned, query, table
from crofter.db.sql import Column, ForeignKey, Index, Text, bindparam, select

backup = table(
    "backup",
    identity(),
    owned(),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False),
    Column("type", Text, nullable=False),  # auto or snapshot
    Column("status", Text, nullable=False),
    Column("label", Text),
    Column("region", Text, nullable=False),
    Column("host", Id),
    Column("disks", Json, nullable=False),  # displayed form, with the id of each disk
    Column("configs", Json, nullable=False),  # complete profiles, for a restore
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    Column("finished", Moment),
    Index("ix_backup_instance_id", "instance_id", "id"),
)


class Backup(Row):
    id: int
    account_id: int
    instance_id: int
    type: str
    status: str
    label: str | None
    region: str
    host: int | None
    disks: list[dict[str, Any]]
    configs: list[dict[str, Any]]
    created: str
    updated: str
    finished: str | None


ALL = select(backup)
_OF = query(ALL.where(backup.c.instance_id == bindparam("instance_id")).order_by(backup.c.id.desc()), Backup)
_ONE = query(
    ALL.where(
        backup.c.account_id == bindparam("account_id"),
        backup.c.instance_id == bindparam("instance_id"),
        backup.c.id == bindparam("id"),
    ),
    Backup,
)
_MINE = query(
    ALL.where(backup.c.account_id == bindparam("account_id"), backup.c.id == bindparam("id")),
    Backup,
)


def ask_ahead(ctx: Context, instance_id: int) -> None:
    """Prefetch the backups of this instance."""
    ctx.db.ask_ahead(_OF, instance_id=instance_id)


def of(ctx: Context, instance_id: int) -> list[Backup]:
    """Newest first."""
    return ctx.db.all(_OF, instance_id=instance_id)


def one(ctx: Context, compute_id: int, backup_id: int) -> Backup:
    return ctx.db.one(_ONE, account_id=ctx.account_id, instance_id=compute_id, id=backup_id)


def find(ctx: Context, backup_id: int) -> Backup | None:
    """A backup of any instance of the account."""
    return ctx.db.maybe(_MINE, account_id=ctx.account_id, id=backup_id)
