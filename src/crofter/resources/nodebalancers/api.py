"""Load balancers: list, create, view, update, delete, statistics; and those that lead to an instance."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.errors import Invalid
from crofter.resources.instances import store as instances
from crofter.resources.nodebalancers import rules, store
from crofter.resources.nodebalancers.shapes import (
    NodeBalancerCreate,
    NodeBalancerStats,
    NodeBalancerUpdate,
    NodeBalancerView,
)
from crofter.resources.nodebalancers.store import NodeBalancer
from crofter.shapes import Page

TheInstance = Annotated[instances.Instance, Lookup(instances.one, "compute_id")]
TheNodeBalancer = Annotated[NodeBalancer, Lookup(store.one, "nodebalancer_id")]


@endpoint("GET /v4/compute/instances/{compute_id}/nodebalancers", scope="computes:read_only", grant="compute:read_only")
def list_instance_nodebalancers(ctx: Context, instance: TheInstance, listing: Listing) -> Page[NodeBalancerView]:
    """List the load balancers with a node that is the private address of an instance."""
    return listing.of(
        ctx,
        store.OF_INSTANCE[ctx.actor.restricted],
        lambda rows: store.views(ctx, rows),
        account_id=ctx.account_id,
        user_id=ctx.actor.user_id,
        instance_id=instance.id,
    )


@endpoint("GET /v4/nodebalancers", scope="nodebalancers:read_only", grant="any")
def list_nodebalancers(ctx: Context, listing: Listing) -> Page[NodeBalancerView]:
    """List the load balancers that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    return listing.of(ctx, store.ALL[ctx.actor.restricted], lambda rows: store.views(ctx, rows), **bounds)


@endpoint(
    "POST /v4/nodebalancers",
    scope="nodebalancers:read_write",
    grant="add_nodebalancers",
    events=("nodebalancer_create", "nodebalancer_config_create", "nodebalancer_node_create", "tag_create"),
)
def create_nodebalancer(ctx: Context, body: NodeBalancerCreate) -> NodeBalancerView:
    """Create a load balancer, with its ports and nodes if they are sent; this incurs a charge."""
    return rules.create(ctx, body)


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}",
    scope="nodebalancers:read_only",
    grant="nodebalancer:read_only",
)
def view_nodebalancer(ctx: Context, balancer: TheNodeBalancer) -> NodeBalancerView:
    """View a load balancer."""
    return store.view(ctx, balancer)


@endpoint(
    "PUT /v4/nodebalancers/{nodebalancer_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_update", "tag_create"),
)
def update_nodebalancer(ctx: Context, balancer: TheNodeBalancer, body: NodeBalancerUpdate) -> NodeBalancerView:
    """Change a load balancer's label, throttle or tags."""
    return rules.update(ctx, balancer, body)


@endpoint(
    "DELETE /v4/nodebalancers/{nodebalancer_id}",
    scope="nodebalancers:read_write",
    grant="nodebalancer:read_write",
    events=("nodebalancer_delete",),
)
def delete_nodebalancer(ctx: Context, balancer: TheNodeBalancer) -> None:
    """Delete a load balancer, with its ports and nodes; its address goes back."""
    rules.delete(ctx, balancer)


@endpoint(
    "GET /v4/nodebalancers/{nodebalancer_id}/stats",
    scope="nodebalancers:read_only",
    grant="nodebalancer:read_only",
    rate="stats",
    refuses=(Invalid,),
)
def view_nodebalancer_stats(ctx: Context, balancer: TheNodeBalancer) -> NodeBalancerStats:
    """View connections and traffic of the last 24 hours."""
    return rules.stats(ctx, balancer)
