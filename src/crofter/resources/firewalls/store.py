"""Firewalls, and what they guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Column, ForeignKey, Index, Select, Text, UniqueConstraint, bindparam, exists, select

from crofter.context import Context
from crofter.db import Id, Json, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.resources.firewalls.shapes import FirewallView, RulesView, RuleView
from crofter.resources.tags import store as tags
from crofter.resources.users.store import grant

KIND = "firewall"

firewall = table(
    "firewall",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="enabled"),
    Column("inbound", Json, nullable=False),
    Column("inbound_policy", Text, nullable=False),
    Column("outbound", Json, nullable=False),
    Column("outbound_policy", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("account_id", "label"),
    Index("ix_firewall_account_id", "account_id", "id"),
)
firewall_device = table(
    "firewall_device",
    identity(),
    Column("firewall_id", Id, ForeignKey("firewall.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("firewall_id", "kind", "object_id"),
    Index("ix_firewall_device_object", "kind", "object_id"),
)


class Firewall(Row):
    id: int
    account_id: int
    label: str
    status: str
    inbound: list[dict[str, Any]]
    inbound_policy: str
    outbound: list[dict[str, Any]]
    outbound_policy: str
    created: str
    updated: str


_OWN = select(*(firewall.c[name] for name in Firewall.__struct_fields__)).where(
    firewall.c.account_id == bindparam("account_id")
)
_THESE = query(_OWN.where(among(firewall.c.id, "ids")), Firewall)
_OF = _OWN.where(
    exists(
        select(firewall_device.c.id).where(
            firewall_device.c.firewall_id == firewall.c.id,
            firewall_device.c.kind == bindparam("kind"),
            firewall_device.c.object_id == bindparam("object_id"),
        )
    ),
)
_GRANTED = exists(
    select(grant.c.object_id).where(
        grant.c.user_id == bindparam("user_id"), grant.c.kind == KIND, grant.c.object_id == firewall.c.id
    )
)


def _collection(statement: Select[Any]) -> Collection[Firewall]:
    columns = {name: firewall.c[name] for name in ("id", "label", "created", "updated")}
    return Collection(
        FirewallView,
        statement,
        Firewall,
        key=firewall.c.id,
        columns={**columns, "tags": tags.field_of(KIND, firewall.c.id)},
    )


OF_OBJECT = {False: _collection(_OF), True: _collection(_OF.where(_GRANTED))}
"""By whether the caller is restricted."""


def these(ctx: Context, ids: Sequence[int]) -> list[Firewall]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def views(ctx: Context, rows: Sequence[Firewall]) -> list[FirewallView]:
    labels = tags.labels(ctx, KIND, [row.id for row in rows]) if rows else {}
    return [_view(row, labels.get(row.id, [])) for row in rows]


def _view(row: Firewall, labels: list[str]) -> FirewallView:
    rules = RulesView(
        inbound=msgspec.convert(row.inbound, list[RuleView]),
        inbound_policy=row.inbound_policy,  # type: ignore[arg-type]
        outbound=msgspec.convert(row.outbound, list[RuleView]),
        outbound_policy=row.outbound_policy,  # type: ignore[arg-type]
    )
    return FirewallView(
        created=row.created,
        id=row.id,
        label=row.label,
        rules=rules,
        status=row.status,  # type: ignore[arg-type]
        tags=labels,
        updated=row.updated,
    )


def let_go(ctx: Context, kind: str, object_id: int) -> int:
    """Take an object from under every firewall; how many there were."""
    return ctx.db.delete(firewall_device, kind=kind, object_id=object_id)
