"""Ports of a load balancer: list, create, view, update, delete, and rebuild with their nodes."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.nodebalancers.api import TheNodeBalancer
from crofter.resources.nodebalancers.configs import rules, store
from crofter.resources.nodebalancers.configs.shapes import (
    NodeBalancerConfigBody,
    NodeBalancerConfigRebuild,
    NodeBalancerConfigView,
)
from crofter.resources.nodebalancers.configs.store import Config
from crofter.shapes import Page

TAG = "nodebalancers"
TheConfig = Annotated[Config, Lookup(store.one, "nodebalancer_id", "config_id")]


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}/configs",
    scope="nodebalancers:read_only",
    grant="nodebalancer:read_only",
)
def list_nodebalancer_configs(
    ctx: Context, balancer: TheNodeBalancer, listing: Listing
) -> Page[NodeBalancerConfigView]:
    """List the ports that a load balancer serves."""
    return listing.of(
        ctx,
        store.CONFIGS,
        lambda rows: store.views(ctx, rows),
        account_id=ctx.account_id,
        nodebalancer_id=balancer.id,
    )


@endpoint(
    "POST /v4/nodebalancers/{nodebalancer_id}/configs",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_config_create",),
)
def create_nodebalancer_config(
    ctx: Context, balancer: TheNodeBalancer, body: NodeBalancerConfigBody
) -> NodeBalancerConfigView:
    """Let a load balancer serve another port."""
    return rules.create(ctx, balancer, body)


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}",
    scope="nodebalancers:read_only",
    grant="nodebalancer:read_only",
)
def view_nodebalancer_config(ctx: Context, balancer: TheNodeBalancer, config: TheConfig) -> NodeBalancerConfigView:
    """View what a load balancer serves on a port."""
    return store.view(ctx, config)


@endpoint(
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_config_update",),
)
def update_nodebalancer_config(
    ctx: Context, balancer: TheNodeBalancer, config: TheConfig, body: NodeBalancerConfigBody
) -> NodeBalancerConfigView:
    """Change what a load balancer serves on a port."""
    return rules.update(ctx, balancer, config, body)


@endpoint(
    "DELETE /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_config_delete",),
)
def delete_nodebalancer_config(ctx: Context, balancer: TheNodeBalancer, config: TheConfig) -> None:
    """Serve a port no more; the nodes behind it go with it."""
    rules.delete(ctx, balancer, config)


@endpoint(
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/rebuild",
    scope="nodebalancers:read_write",
    grant="add_nodebalancers",
    events=(
        "nodebalancer_config_update",
        "nodebalancer_node_create",
        "nodebalancer_node_update",
        "nodebalancer_node_delete",
    ),
)
def rebuild_nodebalancer_config(
    ctx: Context, balancer: TheNodeBalancer, config: TheConfig, body: NodeBalancerConfigRebuild
) -> NodeBalancerConfigView:
    """Change what a load balancer serves on a port, and replace the nodes behind it."""
    return rules.rebuild(ctx, balancer, config, body)
