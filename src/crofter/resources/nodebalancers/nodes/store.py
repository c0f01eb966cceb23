"""Nodes of load balancers. Whether one is up is not kept: it follows from the instance that has its address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Row, among, query
from crofter.db.collections import Collection
from crofter.db.sql import and_, bindparam, case, func, select
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.instances.ips.store import address
from crofter.resources.instances.store import instance
from crofter.resources.nodebalancers.configs.tables import nodebalancer_config
from crofter.resources.nodebalancers.nodes.shapes import NodeBalancerNodeView, NodeStatus
from crofter.resources.nodebalancers.nodes.tables import nodebalancer_node
from crofter.resources.nodebalancers.store import nodebalancer

TAKEN = "Address must be unique among the nodes of a config"
RUNNING = "running"


class Node(Row):
    id: int
    config_id: int
    nodebalancer_id: int
    label: str
    region: str
    host: str
    port: int
    weight: int
    mode: str
    check_kind: str
    power: str | None
    """The status of the instance that has the address."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def status(self) -> NodeStatus:
        if self.check_kind == "none":
            return "Unknown"
        return "UP" if self.power == RUNNING else "DOWN"


class Health(Row):
    """How many nodes a port has, and how many of them are at instances that run."""

    config_id: int
    nodes: int
    running: int


class Host(Row):
    """A private address that a balancer can reach, and whose it is."""

    address: str
    instance_id: int
    status: str


_node, _config = nodebalancer_node.c, nodebalancer_config.c
_OWNER = and_(address.c.address == _node.host, address.c.region == _node.region, address.c.public.is_(False))
_SHOWN = (
    select(
        _node.id,
        _node.config_id,
        _config.nodebalancer_id,
        _node.label,
        _node.region,
        _node.host,
        _node.port,
        _node.weight,
        _node.mode,
        _config.check_kind,
        instance.c.status.label("power"),
    )
    .join(nodebalancer_config, _config.id == _node.config_id)
    .join(nodebalancer, nodebalancer.c.id == _config.nodebalancer_id)
    .outerjoin(address, _OWNER)
    .outerjoin(instance, instance.c.id == address.c.instance_id)
    .where(nodebalancer.c.account_id == bindparam("account_id"))
)
_OF = _SHOWN.where(_node.config_id == bindparam("config_id"))
_ALL = query(_OF.order_by(_node.id), Node)
_ONE = query(
    _OF.where(_config.nodebalancer_id == bindparam("nodebalancer_id"), _node.id == bindparam("id")),
    Node,
)
_AT = query(
    _SHOWN.where(address.c.instance_id == bindparam("instance_id")).order_by(_node.id),
    Node,
)
_COUNT = query(select(func.count()).where(_node.config_id == bindparam("config_id")))
_RUNNING = func.sum(case((instance.c.status == RUNNING, 1), else_=0))
_HEALTH = query(
    select(_node.config_id, func.count().label("nodes"), _RUNNING.label("running"))
    .select_from(nodebalancer_node)
    .outerjoin(address, _OWNER)
    .outerjoin(instance, instance.c.id == address.c.instance_id)
    .where(among(_node.config_id, "ids"))
    .group_by(_node.config_id),
    Health,
)
_HOSTS = query(
    select(address.c.address, address.c.instance_id, instance.c.status)
    .join(instance, instance.c.id == address.c.instance_id)
    .where(
        among(address.c.address, "hosts"),
        address.c.region == bindparam("region"),
        address.c.account_id == bindparam("account_id"),
        address.c.public.is_(False),
    ),
    Host,
)
NODES = Collection(NodeBalancerNodeView, _OF, Node, key=_node.id, columns={})


def one(ctx: Context, nodebalancer_id: int, config_id: int, node_id: int) -> Node:
    return ctx.db.one(_ONE, account_id=ctx.account_id, nodebalancer_id=nodebalancer_id, config_id=config_id, id=node_id)


def of(ctx: Context, config_id: int) -> list[Node]:
    return ctx.db.all(_ALL, account_id=ctx.account_id, config_id=config_id)


def at(ctx: Context, account_id: int, instance_id: int) -> list[Node]:
    """Return the nodes of an account on an instance."""
    return ctx.db.all(_AT, account_id=account_id, instance_id=instance_id)


def count(ctx: Context, config_id: int) -> int:
    return int(ctx.db.value(_COUNT, config_id=config_id))


def health(ctx: Context, config_ids: Sequence[int]) -> dict[int, Health]:
    """Return the health of the configs that have nodes."""
    return {row.config_id: row for row in ctx.db.all(_HEALTH, ids=list(config_ids))} if config_ids else {}


def hosts(ctx: Context, region: str, wanted: Iterable[str]) -> dict[str, Host]:
    """Return the private addresses among ``wanted`` that belong to the account's instances in a region."""
    rows = ctx.db.all(_HOSTS, hosts=list(wanted), region=region, account_id=ctx.account_id)
    return {row.address: row for row in rows}


def insert(ctx: Context, config_id: int, **values: Any) -> int:
    try:
        return ctx.db.insert(nodebalancer_node, config_id=config_id, **values)
    except Duplicate:
        raise Invalid(TAKEN, field="address") from None


def change(ctx: Context, node_id: int, changes: dict[str, Any]) -> None:
    try:
        ctx.db.update(nodebalancer_node, {"id": node_id}, **changes)
    except Duplicate:
        raise Invalid(TAKEN, field="address") from None


def delete(ctx: Context, node_id: int) -> None:
    ctx.db.delete(nodebalancer_node, id=node_id)


def entity(nodebalancer_id: int, config_id: int, node_id: int, label: str) -> Entity:
    url = f"/v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{node_id}"
    return Entity("node", node_id, label, url)


def view(row: Node) -> NodeBalancerNodeView:
    return NodeBalancerNodeView(
        address=row.address,
        config_id=row.config_id,
        id=row.id,
        label=row.label,
        mode=row.mode,  # type: ignore[arg-type]
        nodebalancer_id=row.nodebalancer_id,
        status=row.status,
        weight=row.weight,
    )


def views(rows: Sequence[Node]) -> list[NodeBalancerNodeView]:
    return [view(row) for row in rows]
