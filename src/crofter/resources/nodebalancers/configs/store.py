"""Ports of load balancers. The key of a certificate is sealed, and bound to its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Row, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, func, select
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.nodebalancers.configs.shapes import REDACTED, NodeBalancerConfigView, NodesStatusView
from crofter.resources.nodebalancers.configs.tables import nodebalancer_config
from crofter.resources.nodebalancers.nodes import store as nodes
from crofter.resources.nodebalancers.store import nodebalancer

TAKEN = "Port must be unique among the configs of a NodeBalancer"


class Config(Row):
    """A config without certificate and key, which no response needs."""

    id: int
    nodebalancer_id: int
    port: int
    protocol: str
    algorithm: str
    stickiness: str
    check_kind: str
    check_interval: int
    check_timeout: int
    check_attempts: int
    check_path: str
    check_body: str
    check_passive: bool
    proxy_protocol: str
    cipher_suite: str
    ssl_commonname: str
    ssl_fingerprint: str

    @property
    def has_certificate(self) -> bool:
        return self.ssl_fingerprint != ""


_SHOWN = (
    select(*(nodebalancer_config.c[name] for name in Config.__struct_fields__))
    .join(nodebalancer, nodebalancer.c.id == nodebalancer_config.c.nodebalancer_id)
    .where(
        nodebalancer.c.account_id == bindparam("account_id"),
        nodebalancer_config.c.nodebalancer_id == bindparam("nodebalancer_id"),
    )
)
CONFIGS = Collection(NodeBalancerConfigView, _SHOWN, Config, key=nodebalancer_config.c.id, columns={})
_ONE = query(_SHOWN.where(nodebalancer_config.c.id == bindparam("id")), Config)
_COUNT = query(select(func.count()).where(nodebalancer_config.c.nodebalancer_id == bindparam("nodebalancer_id")))
_AT_PORT = query(
    select(nodebalancer_config.c.id).where(
        nodebalancer_config.c.nodebalancer_id == bindparam("nodebalancer_id"),
        nodebalancer_config.c.port == bindparam("port"),
    )
)


def one(ctx: Context, nodebalancer_id: int, config_id: int) -> Config:
    return ctx.db.one(_ONE, account_id=ctx.account_id, nodebalancer_id=nodebalancer_id, id=config_id)


def count(ctx: Context, nodebalancer_id: int) -> int:
    return int(ctx.db.value(_COUNT, nodebalancer_id=nodebalancer_id))


def at_port(ctx: Context, nodebalancer_id: int, port: int) -> int | None:
    """The config that serves a port."""
    config_id: int | None = ctx.db.value(_AT_PORT, nodebalancer_id=nodebalancer_id, port=port)
    return config_id


def insert(ctx: Context, nodebalancer_id: int, values: dict[str, Any]) -> int:
    try:
        return ctx.db.insert(nodebalancer_config, nodebalancer_id=nodebalancer_id, **values)
    except Duplicate:
        raise Invalid(TAKEN, field="port") from None


def change(ctx: Context, config_id: int, values: dict[str, Any]) -> None:
    try:
        ctx.db.update(nodebalancer_config, {"id": config_id}, **values)
    except Duplicate:
        raise Invalid(TAKEN, field="port") from None


def put_key(ctx: Context, config_id: int, key: str) -> None:
    """Seal the key of the certificate."""
    sealed = ctx.runtime.keyring.seal(key.encode(), f"nodebalancer_config:{config_id}:ssl_key")
    ctx.db.update(nodebalancer_config, {"id": config_id}, ssl_key=sealed)


def delete(ctx: Context, config_id: int) -> None:
    ctx.db.delete(nodebalancer_config, id=config_id)


def entity(row: Config) -> Entity:
    return Entity("config", row.id, f"port {row.port}", f"/v4/nodebalancers/{row.nodebalancer_id}/configs/{row.id}")


def views(ctx: Context, rows: Sequence[Config]) -> list[NodeBalancerConfigView]:
    health = nodes.health(ctx, [row.id for row in rows if row.check_kind != "none"])
    return [_view(row, health.get(row.id)) for row in rows]


def view(ctx: Context, row: Config) -> NodeBalancerConfigView:
    return views(ctx, [row])[0]


def _view(row: Config, health: nodes.Health | None) -> NodeBalancerConfigView:
    up, known = (health.running, health.nodes) if health else (0, 0)
    hidden = REDACTED if row.has_certificate else None
    shown: dict[str, Any] = {name: getattr(row, name) for name in Config.__struct_fields__ if name != "check_kind"}
    return NodeBalancerConfigView(
        **shown,
        check=row.check_kind,  # type: ignore[arg-type]
        nodes_status=NodesStatusView(down=known - up, up=up),
        ssl_cert=hidden,
        ssl_key=hidden,
    )
