"""Instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, among, identity, owned, partial_index, query, table
from crofter.db.collections import Collection
from crofter.db.filters import Field
from crofter.db.sql import (
    Column,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    bindparam,
    select,
    text,
    type_coerce,
    update,
)
from crofter.db.tally import Tally
from crofter.errors import NotFound
from crofter.kinds import Entity
from crofter.resources.instances.ips.store import TEXTS, address
from crofter.resources.instances.shapes import InstanceView
from crofter.resources.tags import store as tags
from crofter.resources.users.store import by_restricted

KIND = "compute"
MOVING = "status <> 'running' AND status <> 'offline' AND status <> 'stopped'"

instance = table(
    "instance",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("group_label", Text, nullable=False),
    Column("region", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("image", Text),
    Column("status", Text, nullable=False),
    Column("ipv6_rdns", Text),
    # Plan values at the time of the assignment.
    Column("vcpus", Integer, nullable=False),
    Column("memory", Integer, nullable=False),
    Column("disk", Integer, nullable=False),
    Column("transfer", Integer, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("alerts", Json, nullable=False),
    Column("watchdog_enabled", Flag, nullable=False),
    Column("backups_enabled", Flag, nullable=False),
    Column("backup_day", Text),
    Column("backup_window", Text),
    Column("last_successful", Moment),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    # Where it lies and how it was last started; for the server, not shown.
    Column("host", Id),
    Column("booted_config", Id),
    Column("backups_cancelled", Moment),
    Column("migration_pending", Flag, nullable=False),
    Column("stackscript_id", Id),  # script of the last deployment
    # Number of changes of addresses and filter: the hypervisor refuses older ones.
    Column("network_generation", Id, nullable=False, server_default="0"),
    UniqueConstraint("label", "account_id"),  # this order keeps searches by account off this index
    partial_index("ix_instance_host", "host", where="host IS NOT NULL"),
    # The few that are on their way from one status to another.
    partial_index("ix_instance_moving", "id", where=MOVING),
    Index("ix_instance_account_id", "account_id", "id"),
    Index("ix_instance_label", "account_id", text("lower(label)"), "id"),
    Index("ix_instance_region", "account_id", text("lower(region)"), "id"),
    Index("ix_instance_image", "account_id", text("lower(image)"), "id"),
    Index("ix_instance_group", "account_id", text("lower(group_label)"), "id"),
)
INSTANCES = Tally(instance)


class Instance(Row):
    id: int
    account_id: int
    label: str
    group_label: str
    region: str
    type: str
    image: str | None
    status: str
    ipv6_rdns: str | None
    vcpus: int
    memory: int
    disk: int
    transfer: int
    gpus: int
    alerts: dict[str, int]
    watchdog_enabled: bool
    backups_enabled: bool
    backup_day: str | None
    backup_window: str | None
    last_successful: str | None
    created: str
    updated: str
    host: int | None
    booted_config: int | None
    backups_cancelled: str | None
    migration_pending: bool


class Shown(Row):
    """Displayed fields of an instance as stored, so that lists need no conversion."""

    id: int
    label: str
    group_label: str
    region: str
    type: str
    image: str | None
    status: str
    vcpus: int
    memory: int
    disk: int
    transfer: int
    gpus: int
    alerts: str
    watchdog_enabled: int
    backups_enabled: int
    backup_day: str | None
    backup_window: str | None
    last_successful: str | None
    created: str
    updated: str
    ipv4: str
    tags: str


def _shown(name: str) -> Any:
    if name in _BESIDE:
        return _BESIDE[name].label(name)
    return type_coerce(instance.c[name], _AS_IT_IS[name]).label(name) if name in _AS_IT_IS else instance.c[name]


_AS_IT_IS = {"alerts": Text, "watchdog_enabled": Integer, "backups_enabled": Integer}
_BESIDE = {"ipv4": TEXTS, "tags": tags.labels_beside(KIND, "instance.id")}
_SHOWN = select(*(_shown(name) for name in Shown.__struct_fields__)).where(
    instance.c.account_id == bindparam("account_id")
)
_ONE_SHOWN = query(_SHOWN.where(instance.c.id == bindparam("id")), Shown)
_ALL = select(*(instance.c[name] for name in Instance.__struct_fields__))
_MINE = _ALL.where(instance.c.account_id == bindparam("account_id"))
_ONE = query(_MINE.where(instance.c.id == bindparam("id")), Instance)
_ANYONES = query(_ALL.where(instance.c.id == bindparam("id")), Instance)
_THESE = query(_MINE.where(among(instance.c.id, "ids")), Instance)
_THESE_SHOWN = query(_SHOWN.where(among(instance.c.id, "ids")), Shown)
_LABELS = query(
    select(instance.c.id, instance.c.label)
    .where(instance.c.account_id == bindparam("account_id"))
    .order_by(instance.c.id),
    lambda number, label: (number, label),
)


_GENERATION = query(select(instance.c.network_generation).where(instance.c.id == bindparam("id")))
_NEXT_GENERATION = query(
    update(instance)
    .where(instance.c.id == bindparam("number"))
    .values(network_generation=instance.c.network_generation + 1)
)
_SCRIPT = query(select(instance.c.stackscript_id).where(instance.c.id == bindparam("id")))
_LABEL = query(
    select(instance.c.id).where(
        instance.c.account_id == bindparam("account_id"), instance.c.label == bindparam("label")
    )
)


def _has_address(condition: Any) -> Any:
    mine = address.c.account_id == bindparam("account_id")
    return instance.c.id.in_(select(address.c.instance_id).where(mine, condition))


_COLUMNS: dict[str, Any] = {
    "id": instance.c.id,
    "label": instance.c.label,
    "group": instance.c.group_label,
    "region": instance.c.region,
    "image": instance.c.image,
    "ipv4": Field(address.c.address, lower_case=True, element_of=_has_address),
    "tags": tags.field_of(KIND, instance.c.id),
    "created": instance.c.created,
    "status": Field(instance.c.status, lower_case=True),
    "type": instance.c.type,
    "updated": instance.c.updated,
    "watchdog_enabled": instance.c.watchdog_enabled,
}
ALL = by_restricted(Collection(InstanceView, _SHOWN, Shown, key=instance.c.id, columns=_COLUMNS, tally=INSTANCES), KIND)


def one(ctx: Context, compute_id: int) -> Instance:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=compute_id)


def shown(ctx: Context, compute_id: int) -> Shown:
    return ctx.db.one(_ONE_SHOWN, account_id=ctx.account_id, id=compute_id)


def made(values: Mapping[str, Any]) -> Instance:
    """Build the row that was just written, without a query."""
    return Instance(*map(values.get, Instance.__struct_fields__))  # type: ignore[arg-type]


def get_unscoped(ctx: Context, instance_id: int) -> Instance:
    """Return the instance of any account, for steps of operations."""
    row = find_unscoped(ctx, instance_id)
    if row is None:
        raise NotFound
    return row


def ask_ahead(ctx: Context, instance_id: int) -> None:
    """Prefetch the instance, of any account."""
    ctx.db.ask_ahead(_ANYONES, id=instance_id)


def find_unscoped(ctx: Context, instance_id: int) -> Instance | None:
    """Return the instance of any account, or None."""
    return ctx.db.maybe(_ANYONES, id=instance_id)


def these(ctx: Context, ids: Sequence[int]) -> list[Instance]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def these_shown(ctx: Context, ids: Sequence[int]) -> list[Shown]:
    return ctx.db.all(_THESE_SHOWN, account_id=ctx.account_id, ids=list(ids))


def script_of(ctx: Context, instance_id: int) -> int | None:
    """Return the StackScript of the last deployment, or None."""
    script_id: int | None = ctx.db.value(_SCRIPT, id=instance_id)
    return script_id


def network_generation(ctx: Context, instance_id: int) -> int:
    return int(ctx.db.value(_GENERATION, id=instance_id) or 0)


def begin_network_generation(ctx: Context, instance_id: int) -> bool:
    """Something about its network changes; False if it is gone by now."""
    return bool(ctx.db.run(_NEXT_GENERATION, number=instance_id))


def has_label(ctx: Context, label: str) -> bool:
    return ctx.db.value(_LABEL, account_id=ctx.account_id, label=label) is not None


def labels(ctx: Context) -> list[tuple[int, str]]:
    """Every instance of the account by id and label."""
    return ctx.db.all(_LABELS, account_id=ctx.account_id)


def entity(row: Instance) -> Entity:
    return Entity(KIND, row.id, row.label, f"/v4/compute/instances/{row.id}")
