"""Load balancers, the ports they serve, and the nodes behind each port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Select,
    Text,
    UniqueConstraint,
    bindparam,
    exists,
    select,
)

from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.resources.instances.ips.store import address
from crofter.resources.nodebalancers.shapes import NodeBalancerView, TransferView
from crofter.resources.tags import store as tags
from crofter.resources.users.store import grant

KIND = "nodebalancer"
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
    # Bytes of this month; null while nothing is known.
    Column("bytes_in", Id),
    Column("bytes_out", Id),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("account_id", "label"),
    Index("ix_nodebalancer_account_id", "account_id", "id"),
)
nodebalancer_config = table(
    "nodebalancer_config",
    identity(),
    Column("nodebalancer_id", Id, ForeignKey("nodebalancer.id", ondelete="CASCADE"), nullable=False),
    Column("port", Integer, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("algorithm", Text, nullable=False),
    Column("stickiness", Text, nullable=False),
    Column("check_kind", Text, nullable=False),
    Column("check_interval", Integer, nullable=False),
    Column("check_timeout", Integer, nullable=False),
    Column("check_attempts", Integer, nullable=False),
    Column("check_path", Text, nullable=False),
    Column("check_body", Text, nullable=False),
    Column("check_passive", Flag, nullable=False),
    Column("proxy_protocol", Text, nullable=False),
    Column("cipher_suite", Text, nullable=False),
    # The key is sealed; name and fingerprint are what is shown of the certificate.
    Column("ssl_cert", Text),
    Column("ssl_key", LargeBinary),
    Column("ssl_commonname", Text, nullable=False, server_default=""),
    Column("ssl_fingerprint", Text, nullable=False, server_default=""),
    UniqueConstraint("nodebalancer_id", "port"),
)
nodebalancer_node = table(
    "nodebalancer_node",
    identity(),
    Column("config_id", Id, ForeignKey("nodebalancer_config.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("label", Text, nullable=False),
    # Shown as one: ``192.168.128.7:80``.
    Column("host", Text, nullable=False, index=True),
    Column("port", Integer, nullable=False),
    Column("weight", Integer, nullable=False),
    Column("mode", Text, nullable=False),
    Column("status", Text, nullable=False),
)


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


# Private addresses are the same range in every region, and a balancer reaches those of its own only.
_LEADS_TO = exists(
    select(nodebalancer_node.c.id)
    .join(nodebalancer_config, nodebalancer_config.c.id == nodebalancer_node.c.config_id)
    .join(address, address.c.address == nodebalancer_node.c.host)
    .where(
        nodebalancer_config.c.nodebalancer_id == nodebalancer.c.id,
        address.c.region == nodebalancer.c.region,
        address.c.instance_id == bindparam("instance_id"),
        address.c.public.is_(False),
    )
)
_OWN = select(*(nodebalancer.c[name] for name in NodeBalancer.__struct_fields__)).where(
    nodebalancer.c.account_id == bindparam("account_id")
)
_OF = _OWN.where(_LEADS_TO)
_THESE = query(_OWN.where(among(nodebalancer.c.id, "ids")), NodeBalancer)
_GRANTED = exists(
    select(grant.c.object_id).where(
        grant.c.user_id == bindparam("user_id"), grant.c.kind == KIND, grant.c.object_id == nodebalancer.c.id
    )
)


def _collection(statement: Select[Any]) -> Collection[NodeBalancer]:
    columns = {name: nodebalancer.c[name] for name in ("label", "region", "ipv4")}
    return Collection(
        NodeBalancerView,
        statement,
        NodeBalancer,
        key=nodebalancer.c.id,
        columns={**columns, "tags": tags.field_of(KIND, nodebalancer.c.id)},
    )


OF_INSTANCE = {False: _collection(_OF), True: _collection(_OF.where(_GRANTED))}
"""By whether the caller is restricted."""


def these(ctx: Context, ids: Sequence[int]) -> list[NodeBalancer]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def views(ctx: Context, rows: Sequence[NodeBalancer]) -> list[NodeBalancerView]:
    labels = tags.labels(ctx, KIND, [row.id for row in rows]) if rows else {}
    return [_view(row, labels.get(row.id, [])) for row in rows]


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


def _transfer(bytes_in: int | None, bytes_out: int | None) -> TransferView:
    if bytes_in is None or bytes_out is None:
        return TransferView(None, None, None)
    return TransferView(bytes_in / MEGABYTE, bytes_out / MEGABYTE, (bytes_in + bytes_out) / MEGABYTE)
