"""Nodes behind a port of a load balancer: list, create, view, update, delete."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.nodebalancers.api import TheNodeBalancer
from crofter.resources.nodebalancers.configs import store as configs
from crofter.resources.nodebalancers.configs.store import Config
from crofter.resources.nodebalancers.nodes import rules, store
from crofter.resources.nodebalancers.nodes.shapes import (
    NodeBalancerNodeBody,
    NodeBalancerNodeUpdate,
    NodeBalancerNodeView,
)
from crofter.resources.nodebalancers.nodes.store import Node
from crofter.shapes import Page

TAG = "nodebalancers"
TheConfig = Annotated[Config, Lookup(configs.one, "nodebalancer_id", "config_id")]
TheNode = Annotated[Node, Lookup(store.one, "nodebalancer_id", "config_id", "node_id")]


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes",
    scope="nodebalancers:read_only",
    grant="nodebalancer:read_only",
)
def list_nodebalancer_nodes(ctx: Context, config: TheConfig, listing: Listing) -> Page[NodeBalancerNodeView]:
    """List the nodes behind a port."""
    return listing.of(ctx, store.NODES, store.views, account_id=ctx.account_id, config_id=config.id)


@endpoint(
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_node_create",),
)
def create_nodebalancer_node(
    ctx: Context, balancer: TheNodeBalancer, config: TheConfig, body: NodeBalancerNodeBody
) -> NodeBalancerNodeView:
    """Send traffic of a port to an instance."""
    return rules.create(ctx, balancer, config.id, body)


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{node_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_only",
)
def view_nodebalancer_node(ctx: Context, node: TheNode) -> NodeBalancerNodeView:
    """View a node."""
    return store.view(node)


@endpoint(
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{node_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_node_update",),
)
def update_nodebalancer_node(
    ctx: Context, balancer: TheNodeBalancer, node: TheNode, body: NodeBalancerNodeUpdate
) -> NodeBalancerNodeView:
    """Change a node's address, label, weight or mode."""
    return rules.update(ctx, balancer, node, body)


@endpoint(
    "DELETE /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{node_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_node_delete",),
)
def delete_nodebalancer_node(ctx: Context, balancer: TheNodeBalancer, node: TheNode) -> None:
    """Send no more traffic to a node."""
    rules.delete(ctx, balancer, node)
