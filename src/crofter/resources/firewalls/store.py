"""Storage of firewalls and their devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crofter.context import Context
from crofter.db import Duplicate, Id, Json, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ForeignKey,
    Index,
    Select,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    select,
    text,
    type_coerce,
)
from crofter.db.tally import Tally
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.firewalls.shapes import FirewallDeviceView, FirewallView, RulesView
from crofter.resources.instances import store as instances
from crofter.resources.tags import store as tags
from crofter.resources.users.store import by_restricted, is_granted
from crofter.shapes import Raw

KIND = "firewall"
TAKEN = "Label must be unique among your Cloud Firewalls"

firewall = table(
    "firewall",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="enabled"),
    # Stored as a document in its displayed form: rules are read and replaced together, and every list shows all of
    # them.
    Column("rules", Json, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("label", "account_id"),  # in this order it tempts no search by account alone
    Index("ix_firewall_account_id", "account_id", "id"),
    Index("ix_firewall_label", "account_id", text("lower(label)"), "id"),
    Index("ix_firewall_created", "account_id", "created", "id"),
    Index("ix_firewall_updated", "account_id", "updated", "id"),
)
firewall_device = table(
    "firewall_device",
    identity(),
    Column("firewall_id", Id, ForeignKey("firewall.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("object_id", "kind", "firewall_id"),  # also finds the firewalls of an object
    Index("ix_firewall_device_firewall_id", "firewall_id", "id"),
    Index("ix_firewall_device_created", "firewall_id", "created", "id"),
    Index("ix_firewall_device_updated", "firewall_id", "updated", "id"),
)
_FIREWALLS = Tally(firewall)
_DEVICES = Tally(firewall_device, owner="firewall_id")


class Firewall(Row):
    id: int
    account_id: int
    label: str
    status: str
    rules: str
    """Rules in the stored and displayed form."""
    created: str
    updated: str
    tags: str


class Device(Row):
    id: int
    object_id: int
    created: str
    updated: str
    label: str | None


_COLUMNS: dict[str, Any] = {
    "rules": type_coerce(firewall.c.rules, Text).label("rules"),
    "tags": tags.labels_beside(KIND, "firewall.id").label("tags"),
}
_OWN = select(*(_COLUMNS[name] if name in _COLUMNS else firewall.c[name] for name in Firewall.__struct_fields__)).where(
    firewall.c.account_id == bindparam("account_id")
)
_ONE = query(_OWN.where(firewall.c.id == bindparam("id")), Firewall)
_THESE = query(_OWN.where(among(firewall.c.id, "ids")), Firewall)
_LABEL = query(
    select(firewall.c.id).where(
        firewall.c.account_id == bindparam("account_id"), firewall.c.label == bindparam("label")
    )
)
_OF = _OWN.where(
    firewall.c.id.in_(
        select(firewall_device.c.firewall_id).where(
            firewall_device.c.kind == bindparam("kind"), firewall_device.c.object_id == bindparam("object_id")
        )
    ),
)
_GRANTED = is_granted(KIND, firewall.c.id)


def _collection(statement: Select[Any], tally: Tally | None = None) -> Collection[Firewall]:
    columns = {name: firewall.c[name] for name in ("id", "label", "created", "updated")}
    return Collection(
        FirewallView,
        statement,
        Firewall,
        key=firewall.c.id,
        columns={**columns, "tags": tags.field_of(KIND, firewall.c.id)},
        tally=tally,
    )


ALL = by_restricted(_collection(_OWN, _FIREWALLS), KIND)
OF_OBJECT = {False: _collection(_OF), True: _collection(_OF.where(_GRANTED))}
"""Collections for unrestricted and restricted callers."""

# devices

_GUARDS = and_(firewall_device.c.kind == instances.KIND, firewall_device.c.object_id == instances.instance.c.id)
_GUARDED = (
    select(
        firewall_device.c.id,
        firewall_device.c.object_id,
        firewall_device.c.created,
        firewall_device.c.updated,
        instances.instance.c.label,
    )
    .select_from(firewall_device.outerjoin(instances.instance, _GUARDS))
    .where(firewall_device.c.firewall_id == bindparam("firewall_id"))
)
DEVICES = Collection(
    FirewallDeviceView,
    _GUARDED,
    Device,
    key=firewall_device.c.id,
    columns={name: firewall_device.c[name] for name in ("id", "created", "updated")},
    tally=_DEVICES,
)
_ONE_DEVICE = query(
    _GUARDED.join(firewall, firewall.c.id == firewall_device.c.firewall_id).where(
        firewall.c.account_id == bindparam("account_id"), firewall_device.c.id == bindparam("id")
    ),
    Device,
)
_OBJECTS = query(
    select(firewall_device.c.object_id)
    .where(firewall_device.c.firewall_id == bindparam("firewall_id"), firewall_device.c.kind == instances.KIND)
    .order_by(firewall_device.c.id)
)
_OTHER = firewall_device.alias("other")
_ENABLED = and_(firewall.c.id == _OTHER.c.firewall_id, firewall.c.status == "enabled")
_GUARDED_ALREADY = query(
    select(_OTHER.c.object_id)
    .join(firewall, _ENABLED)
    .where(_OTHER.c.kind == instances.KIND, among(_OTHER.c.object_id, "ids"))
)
_GUARDED_TWICE = query(
    select(_OTHER.c.object_id)
    .join(firewall, _ENABLED)
    .join(
        firewall_device,
        and_(firewall_device.c.kind == _OTHER.c.kind, firewall_device.c.object_id == _OTHER.c.object_id),
    )
    .where(firewall_device.c.firewall_id == bindparam("firewall_id"), _OTHER.c.firewall_id != bindparam("firewall_id"))
    .limit(1)
)
_IN_FORCE = query(
    select(type_coerce(firewall.c.rules, Text))
    .join(_OTHER, _ENABLED)
    .where(
        _OTHER.c.kind == instances.KIND,
        _OTHER.c.object_id == bindparam("instance_id"),
        firewall.c.account_id == bindparam("account_id"),
    )
)
_OF_INSTANCE = query(
    select(firewall.c.id, firewall.c.label)
    .join(firewall_device, firewall_device.c.firewall_id == firewall.c.id)
    .where(firewall_device.c.kind == instances.KIND, firewall_device.c.object_id == bindparam("instance_id"))
    .order_by(firewall.c.id),
    lambda number, label: entity(number, label),
)


def one(ctx: Context, firewall_id: int) -> Firewall:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=firewall_id)


def these(ctx: Context, ids: Sequence[int]) -> list[Firewall]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def has_label(ctx: Context, label: str) -> bool:
    return ctx.db.value(_LABEL, account_id=ctx.account_id, label=label) is not None


def rules_of(row: Firewall) -> RulesView:
    return msgspec.json.decode(row.rules, type=RulesView)


def views(rows: Sequence[Firewall]) -> list[FirewallView]:
    return [view(row) for row in rows]


def view(row: Firewall) -> FirewallView:
    # Rules go from the database to the answer without being looked at: a list may have thousands of them.
    return FirewallView(
        created=row.created,
        id=row.id,
        label=row.label,
        rules=Raw(row.rules),  # type: ignore[arg-type]
        status=row.status,  # type: ignore[arg-type]
        tags=Raw(row.tags),  # type: ignore[arg-type]
        updated=row.updated,
    )


def entity(firewall_id: int, label: str) -> Entity:
    return Entity(KIND, firewall_id, label, f"/v4/networking/firewalls/{firewall_id}")


def insert(ctx: Context, label: str, rules: RulesView) -> int:
    kept = msgspec.to_builtins(rules)
    moments = {"created": ctx.moment, "updated": ctx.moment}
    try:
        return ctx.db.insert(firewall, account_id=ctx.account_id, label=label, status="enabled", rules=kept, **moments)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None


def change(ctx: Context, firewall_id: int, **values: Any) -> None:
    try:
        ctx.db.update(firewall, {"account_id": ctx.account_id, "id": firewall_id}, **values, updated=ctx.moment)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None


def device(ctx: Context, firewall_id: int, firewall_device_id: int) -> Device:
    return ctx.db.one(_ONE_DEVICE, account_id=ctx.account_id, firewall_id=firewall_id, id=firewall_device_id)


def guarded(ctx: Context, firewall_id: int) -> list[int]:
    """The instances that a firewall guards."""
    return ctx.db.column(_OBJECTS, firewall_id=firewall_id)


def guarded_already(ctx: Context, instance_ids: Sequence[int]) -> set[int]:
    """Return the instances that have an enabled firewall."""
    return set(ctx.db.column(_GUARDED_ALREADY, ids=list(instance_ids)))


def guarded_twice(ctx: Context, firewall_id: int) -> int | None:
    """An instance that would have two enabled firewalls if this one were enabled."""
    instance_id: int | None = ctx.db.value(_GUARDED_TWICE, firewall_id=firewall_id)
    return instance_id


def rules_in_force(ctx: Context, row: instances.Instance) -> RulesView | None:
    """The rules of the enabled firewall of an instance."""
    kept = ctx.db.value(_IN_FORCE, instance_id=row.id, account_id=row.account_id)
    return None if kept is None else msgspec.json.decode(kept, type=RulesView)


def let_go(ctx: Context, instance_id: int) -> list[Entity]:
    """Take an instance from under every firewall; which ones those were."""
    entities = ctx.db.all(_OF_INSTANCE, instance_id=instance_id)
    if entities:
        ctx.db.delete(firewall_device, kind=instances.KIND, object_id=instance_id)
    return entities
