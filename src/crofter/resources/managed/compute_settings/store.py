"""Settings of instances; those that nobody has changed have no row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ForeignKey, Integer, Text, bindparam, func, select, true

from crofter.context import Context
from crofter.db import Flag, Id, Row, query, table
from crofter.db.collections import Collection
from crofter.resources.instances.store import INSTANCES, instance
from crofter.resources.managed import membership
from crofter.resources.managed.compute_settings.shapes import ANY, ComputeSettingsView, Ssh

setting = table(
    "managed_compute_setting",
    Column("compute_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("access", Flag, nullable=False),
    Column("user", Text, nullable=False),
    Column("ip", Text, nullable=False),
    Column("port", Integer, nullable=False),
)
USER = "root"
PORT = 22


class Setting(Row):
    id: int
    label: str
    group_label: str
    access: bool
    user: str
    ip: str
    port: int

    def view(self) -> ComputeSettingsView:
        ssh = Ssh(self.access, self.ip, self.port, self.user)
        return ComputeSettingsView(self.group_label, self.id, self.label, ssh)


_MINE = (
    select(
        instance.c.id,
        instance.c.label,
        instance.c.group_label,
        func.coalesce(setting.c.access, true(), type_=Flag).label("access"),
        func.coalesce(setting.c.user, USER).label("user"),
        func.coalesce(setting.c.ip, ANY).label("ip"),
        func.coalesce(setting.c.port, PORT).label("port"),
    )
    .outerjoin(setting, setting.c.compute_id == instance.c.id)
    .where(instance.c.account_id == bindparam("account_id"))
)
SETTINGS = Collection(ComputeSettingsView, _MINE, Setting, key=instance.c.id, columns={}, tally=INSTANCES)
_ONE = query(_MINE.where(instance.c.id == bindparam("id")), Setting)


def one(ctx: Context, compute_id: int) -> Setting:
    membership.required(ctx)
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=compute_id)


def put(ctx: Context, found: Setting, changes: dict[str, Any]) -> None:
    if changes and not ctx.db.update(setting, {"compute_id": found.id}, **changes):
        values = {"access": found.access, "user": found.user, "ip": found.ip, "port": found.port}
        ctx.db.insert(setting, compute_id=found.id, **{**values, **changes})
