"""Rules of the nodes of a load balancer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.store import KIND as COMPUTE
from crofter.resources.instances.store import Instance
from crofter.resources.nodebalancers import store as balancers
from crofter.resources.nodebalancers.nodes import store
from crofter.resources.nodebalancers.nodes.shapes import (
    MOST_NODES,
    NodeBalancerNodeBody,
    NodeBalancerNodeUpdate,
    NodeBalancerNodeView,
    parts,
)
from crofter.resources.nodebalancers.nodes.store import Node
from crofter.resources.nodebalancers.store import NodeBalancer
from crofter.resources.users import access
from crofter.shapes import UNSET, given

NOT_OURS = "Must be the private address of a Compute in the region of the NodeBalancer"
TOO_MANY = f"A config has at most {MOST_NODES} nodes."


# requests


def create(ctx: Context, balancer: NodeBalancer, config_id: int, body: NodeBalancerNodeBody) -> NodeBalancerNodeView:
    refuse(body, _about_addresses(ctx, balancer.region, [body.address], ["address"]))
    if store.count(ctx, config_id) >= MOST_NODES:
        raise Invalid(TOO_MANY)
    node_id = add(ctx, balancer, config_id, body)
    return store.view(store.one(ctx, balancer.id, config_id, node_id))


def update(ctx: Context, balancer: NodeBalancer, node: Node, body: NodeBalancerNodeUpdate) -> NodeBalancerNodeView:
    changes = given(body, "label", "weight", "mode")
    if body.address is not UNSET and body.address != node.address:
        refuse(body, _about_addresses(ctx, balancer.region, [body.address], ["address"]))
        changes["host"], changes["port"] = parts(body.address)
    if changes:
        store.change(ctx, node.id, changes)
    changed = store.one(ctx, balancer.id, node.config_id, node.id)
    _tell(ctx, "nodebalancer_node_update", balancer, changed)
    return store.view(changed)


def delete(ctx: Context, balancer: NodeBalancer, node: Node) -> None:
    store.delete(ctx, node.id)
    _tell(ctx, "nodebalancer_node_delete", balancer, node)


def add(ctx: Context, balancer: NodeBalancer, config_id: int, body: NodeBalancerNodeBody) -> int:
    """Add a valid node and return its id."""
    host, port = parts(body.address)
    named = {"label": body.label, "weight": body.weight, "mode": body.mode}
    node_id = store.insert(ctx, config_id, region=balancer.region, host=host, port=port, **named)
    node = store.entity(balancer.id, config_id, node_id, body.label)
    record(ctx, "nodebalancer_node_create", balancers.entity(balancer), node)
    return node_id


def replace(ctx: Context, balancer: NodeBalancer, config_id: int, wanted: Sequence[NodeBalancerNodeBody]) -> None:
    """Make these the nodes of a config. One that was there under the same address stays the same node."""
    before = {node.address: node for node in store.of(ctx, config_id)}
    for address in before.keys() - {body.address for body in wanted}:
        delete(ctx, balancer, before[address])
    for body in wanted:
        node = before.get(body.address)
        if node is None:
            add(ctx, balancer, config_id, body)
        elif (node.label, node.weight, node.mode) != (body.label, body.weight, body.mode):
            update(ctx, balancer, node, NodeBalancerNodeUpdate(label=body.label, weight=body.weight, mode=body.mode))


def leave(ctx: Context, instance: Instance) -> None:
    """Remove the nodes of an instance that gives up its private address in this transaction."""
    nodes = store.at(ctx, instance.account_id, instance.id)
    owners = {row.id: row for row in balancers.these(ctx, list({node.nodebalancer_id for node in nodes}))}
    for node in nodes:
        delete(ctx, owners[node.nodebalancer_id], node)


def _tell(ctx: Context, action: str, balancer: NodeBalancer, node: Node) -> None:
    record(
        ctx,
        action,
        balancers.entity(balancer),
        store.entity(balancer.id, node.config_id, node.id, node.label),
    )


# checks


def addresses(ctx: Context, config_id: int) -> set[str]:
    return {node.address for node in store.of(ctx, config_id)}


def complaints(
    ctx: Context,
    region: str | None,
    wanted: Sequence[NodeBalancerNodeBody],
    *,
    path: str = "",
    kept: Collection[str] = (),
) -> Iterator[Reason]:
    """Everything that is wrong with a list of nodes; nothing is wrong with the addresses that are ``kept``."""
    seen: set[str] = set()
    new: list[str] = []
    fields: list[str] = []
    for place, body in enumerate(wanted):
        field = f"{path}nodes[{place}].address"
        if body.address in seen:
            yield Reason(store.TAKEN, field)
        elif body.address not in kept:
            new.append(body.address)
            fields.append(field)
        seen.add(body.address)
    if region is not None:
        yield from _about_addresses(ctx, region, new, fields)


def _about_addresses(ctx: Context, region: str, new: Sequence[str], fields: Sequence[str]) -> Iterator[Reason]:
    """Report unknown instances and those without permission alike."""
    hosts = store.hosts(ctx, region, {parts(address)[0] for address in new}) if new else {}
    usable = {
        host: row.status != "deleting" and access.permits(ctx, COMPUTE, row.instance_id, "read_write")
        for host, row in hosts.items()
    }
    for address, field in zip(new, fields, strict=True):
        if not usable.get(parts(address)[0], False):
            yield Reason(NOT_OURS, field)
