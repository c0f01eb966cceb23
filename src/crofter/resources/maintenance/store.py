"""Scheduled maintenance."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.db import Id, Moment, Row, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, Select, Text, bindparam, select
from crofter.resources.instances.store import KIND, instance
from crofter.resources.maintenance.shapes import MaintenanceEntity, MaintenanceView
from crofter.resources.users.store import is_granted

maintenance = table(
    "maintenance",
    identity(),
    owned(),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("type", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("when_", Moment, nullable=False),
    Index("ix_maintenance_account_id", "account_id", "id"),
)


class Maintenance(Row):
    id: int
    instance_id: int
    label: str
    type: str
    status: str
    reason: str
    when_: str

    def view(self) -> MaintenanceView:
        entity = MaintenanceEntity(self.instance_id, self.label, KIND, f"/v4/compute/instances/{self.instance_id}")
        return MaintenanceView(entity, self.reason, self.status, self.type, self.when_)  # type: ignore[arg-type]


_EVERY = select(
    maintenance.c.id,
    maintenance.c.instance_id,
    instance.c.label,
    maintenance.c.type,
    maintenance.c.status,
    maintenance.c.reason,
    maintenance.c.when_,
).join(instance, instance.c.id == maintenance.c.instance_id)
_ALL = _EVERY.where(maintenance.c.account_id == bindparam("account_id"))
_GRANTED = is_granted(KIND, maintenance.c.instance_id)
_EVERYBODYS = query(_EVERY.order_by(maintenance.c.when_, maintenance.c.id), Maintenance)
_ANY = query(_EVERY.where(maintenance.c.id == bindparam("id")), Maintenance)
_COLUMNS = {"status": maintenance.c.status, "type": maintenance.c.type, "when": maintenance.c.when_}


def _collection(statement: Select[Any]) -> Collection[Maintenance]:
    return Collection(MaintenanceView, statement, Maintenance, key=maintenance.c.id, columns=_COLUMNS)


BY_RESTRICTED = {False: _collection(_ALL), True: _collection(_ALL.where(_GRANTED))}
"""Collections for unrestricted and restricted callers."""
_LISTED = query(_ALL.order_by(maintenance.c.id), Maintenance)


def listed(ctx: Context) -> list[Maintenance]:
    return ctx.db.all(_LISTED, account_id=ctx.account_id)


def any_one(ctx: Context, maintenance_id: int) -> Maintenance | None:
    """Return the maintenance of any account, for the operator."""
    return ctx.db.maybe(_ANY, id=maintenance_id)


def everybodys(ctx: Context) -> list[Maintenance]:
    """Return the maintenance of all accounts, for the operator."""
    return ctx.db.all(_EVERYBODYS)
