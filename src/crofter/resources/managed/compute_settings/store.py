"""Access of the support staff to instances; default settings have no row."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from crofter.context import Context
from crofter.db import Flag, Row, query, table
from crofter.db import Id as IdColumn
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Integer, Text, bindparam, func, select, true
from crofter.errors import Invalid
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.store import INSTANCES, instance
from crofter.resources.managed import membership
from crofter.shapes import UNSET, Body, Id, Optional, View, given

# ---- shapes ---------------------------------------------------------------------------------------------------------

ANY = "any"
SshUser = Annotated[str, Meta(max_length=32, description="Whom to sign in as.", examples=["root"])]
SshIp = Annotated[str, Meta(description="An address of the instance, or `any`.", examples=[ANY])]
Port = Annotated[int, Meta(ge=1, le=65535, description="Where SSH listens.", examples=[22])]


class Ssh(View):
    """The way in by SSH."""

    access: Annotated[bool, Meta(description="Whether the support staff may sign in.")]
    ip: SshIp
    port: Port
    user: SshUser


class ComputeSettingsView(View):
    """How the support staff gets into an instance."""

    group: str
    id: Id
    label: str
    ssh: Ssh


class SshBody(Body):
    access: Optional[bool] = UNSET
    ip: Optional[SshIp] = UNSET
    port: Optional[Port] = UNSET
    user: Optional[SshUser] = UNSET


class ComputeSettingsUpdate(Body):
    ssh: Optional[SshBody] = UNSET


# ---- rows -----------------------------------------------------------------------------------------------------------

setting = table(
    "managed_compute_setting",
    Column(
        "compute_id", IdColumn, ForeignKey("instance.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
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


def put(ctx: Context, before: Setting, changes: dict[str, Any]) -> None:
    if changes and not ctx.db.update(setting, {"compute_id": before.id}, **changes):
        values = {"access": before.access, "user": before.user, "ip": before.ip, "port": before.port}
        ctx.db.insert(setting, compute_id=before.id, **{**values, **changes})


# ---- rules ----------------------------------------------------------------------------------------------------------


def update(ctx: Context, before: Setting, body: ComputeSettingsUpdate) -> ComputeSettingsView:
    if body.ssh is not UNSET:
        changes = given(body.ssh)
        if changes.get("ip", ANY) != ANY and changes["ip"] not in _addresses(ctx, before.id):
            raise Invalid("Must be an address of this Compute, or any", field="ssh.ip")
        put(ctx, before, changes)
    return one(ctx, before.id).view()


def _addresses(ctx: Context, compute_id: int) -> set[str]:
    return {*ips.texts(ctx, compute_id), ips.slaac(ctx, instances.one(ctx, compute_id).region, compute_id)}
