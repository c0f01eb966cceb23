"""Load balancers, and the addresses at which they are reached."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Id, Moment, Row, Session, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.filters import Field
from crofter.db.sql import (
    Column,
    ColumnElement,
    Index,
    Integer,
    Select,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    select,
    text,
)
from crofter.db.tally import Tally
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.store import address
from crofter.resources.nodebalancers.configs.tables import nodebalancer_config
from crofter.resources.nodebalancers.nodes.tables import nodebalancer_node
from crofter.resources.nodebalancers.shapes import NodeBalancerTransferView, NodeBalancerView
from crofter.resources.tags import store as tags
from crofter.resources.users.store import by_restricted

KIND = "nodebalancer"
TAKEN = "Label must be unique among your NodeBalancers"
MEGABYTE = 1024 * 1024

nodebalancer = table(
    "nodebalancer",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("region", Text, nullable=False),
    Column("hostname", Text, nullable=False),
    Column("ipv4", Text, nullable=False, unique=True),
    Column("ipv6", Text),
    Column("client_conn_throttle", Integer, nullable=False, server_default="0"),
    # Bytes of this month; null if unknown.
    Column("bytes_in", Id),
    Column("bytes_out", Id),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("label", "account_id"),  # in this order it tempts no search by account alone
    Index("ix_nodebalancer_account_id", "account_id", "id"),
    Index("ix_nodebalancer_label", "account_id", text("lower(label)"), "id"),
    Index("ix_nodebalancer_region", "account_id", text("lower(region)"), "id"),
    Index("ix_nodebalancer_ipv4", "account_id", "ipv4", "id"),
)
NODEBALANCERS = Tally(nodebalancer)


class NodeBalancer(Row):
    id: int
    account_id: int
    label: str
    region: str
    hostname: str
    ipv4: str
    ipv6: str | None
    client_conn_throttle: int
    bytes_in: int | None
    bytes_out: int | None
    created: str
    updated: str


_OWN = select(*(nodebalancer.c[name] for name in NodeBalancer.__struct_fields__)).where(
    nodebalancer.c.account_id == bindparam("account_id")
)
# From the address of the instance to the balancers: an account may have many that do not lead to it.
_OF = _OWN.where(
    nodebalancer.c.id.in_(
        select(nodebalancer_config.c.nodebalancer_id)
        .join(nodebalancer_node, nodebalancer_node.c.config_id == nodebalancer_config.c.id)
        .join(
            address, and_(address.c.address == nodebalancer_node.c.host, address.c.region == nodebalancer_node.c.region)
        )
        .where(address.c.instance_id == bindparam("instance_id"), address.c.public.is_(False))
    )
)
_ONE = query(_OWN.where(nodebalancer.c.id == bindparam("id")), NodeBalancer)
_THESE = query(_OWN.where(among(nodebalancer.c.id, "ids")), NodeBalancer)
_IN_REGIONS = query(
    select(*(nodebalancer.c[name] for name in NodeBalancer.__struct_fields__)).where(
        among(nodebalancer.c.region, "regions")
    ),
    NodeBalancer,
)
_LABEL = query(
    select(nodebalancer.c.id).where(
        nodebalancer.c.account_id == bindparam("account_id"), nodebalancer.c.label == bindparam("label")
    )
)


def _collection(statement: Select[Any], tally: Tally | None = None) -> Collection[NodeBalancer]:
    columns: dict[str, ColumnElement[Any] | Field] = {
        "created": nodebalancer.c.created,
        "label": nodebalancer.c.label,
        "region": nodebalancer.c.region,
        "ipv4": Field(nodebalancer.c.ipv4, lower_case=True),
        "tags": tags.field_of(KIND, nodebalancer.c.id),
        "updated": nodebalancer.c.updated,
    }
    return Collection(NodeBalancerView, statement, NodeBalancer, key=nodebalancer.c.id, columns=columns, tally=tally)


ALL = by_restricted(_collection(_OWN, NODEBALANCERS), KIND)
OF_INSTANCE = by_restricted(_collection(_OF), KIND)


def one(ctx: Context, nodebalancer_id: int) -> NodeBalancer:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=nodebalancer_id)


def these(ctx: Context, ids: Sequence[int]) -> list[NodeBalancer]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def has_label(ctx: Context, label: str) -> bool:
    return ctx.db.value(_LABEL, account_id=ctx.account_id, label=label) is not None


def insert(ctx: Context, label: str | None, region: str, throttle: int, hostname: str, ipv4: str) -> NodeBalancer:
    """A new row; without a label it is called after its number."""
    row = {
        "account_id": ctx.account_id,
        # Temporary unique label, replaced in this transaction.
        "label": label or f"new-{ctx.rng.hex(24)}",
        "region": region,
        "hostname": hostname,
        "ipv4": ipv4,
        "client_conn_throttle": throttle,
        "created": ctx.moment,
        "updated": ctx.moment,
    }
    try:
        number = ctx.db.insert(nodebalancer, **row)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None
    named = label or _free_label(ctx, f"balancer{number}")
    ctx.db.update(nodebalancer, {"id": number}, label=named, ipv6=ipv6(region, number))
    return one(ctx, number)


def in_regions(db: Session, regions: Sequence[str]) -> list[NodeBalancer]:
    """The balancers of all accounts in these regions."""
    return db.all(_IN_REGIONS, regions=list(regions))


def _free_label(ctx: Context, wanted: str) -> str:
    candidate, number = wanted, 1
    while has_label(ctx, candidate):
        number += 1
        candidate = f"{wanted}-{number}"
    return candidate


def ipv6(region: str, nodebalancer_id: int) -> str:
    """From a prefix that no instance has addresses of: the region, and the number of the balancer."""
    prefix = zlib.crc32(region.encode()) % 0xFFFF + 1
    first = int(ipaddress.IPv6Address("2001:db8:ba::"))
    return str(ipaddress.IPv6Address(first | prefix << 64 | nodebalancer_id))


def change(ctx: Context, nodebalancer_id: int, changes: dict[str, Any]) -> None:
    try:
        ctx.db.update(
            nodebalancer, {"account_id": ctx.account_id, "id": nodebalancer_id}, **changes, updated=ctx.moment
        )
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None


def delete(ctx: Context, row: NodeBalancer) -> None:
    """With its ports and nodes. Its address rests before it is given out again."""
    ctx.db.delete(nodebalancer, account_id=row.account_id, id=row.id)
    ips.give_back(ctx, row.ipv4, row.region, public=True)


def entity(row: NodeBalancer) -> Entity:
    return Entity(KIND, row.id, row.label, f"/v4/nodebalancers/{row.id}")


def views(ctx: Context, rows: Sequence[NodeBalancer]) -> list[NodeBalancerView]:
    labels = tags.labels(ctx, KIND, [row.id for row in rows]) if rows else {}
    return [_view(row, labels.get(row.id, [])) for row in rows]


def view(ctx: Context, row: NodeBalancer) -> NodeBalancerView:
    return _view(row, tags.labels_of(ctx, KIND, row.id))


def _view(row: NodeBalancer, labels: list[str]) -> NodeBalancerView:
    return NodeBalancerView(
        client_conn_throttle=row.client_conn_throttle,
        created=row.created,
        hostname=row.hostname,
        id=row.id,
        ipv4=row.ipv4,
        ipv6=row.ipv6,
        label=row.label,
        region=row.region,
        tags=labels,
        transfer=_transfer(row.bytes_in, row.bytes_out),
        updated=row.updated,
    )


def _transfer(bytes_in: int | None, bytes_out: int | None) -> NodeBalancerTransferView:
    if bytes_in is None or bytes_out is None:
        return NodeBalancerTransferView(None, None, None)
    return NodeBalancerTransferView(bytes_in / MEGABYTE, bytes_out / MEGABYTE, (bytes_in + bytes_out) / MEGABYTE)
