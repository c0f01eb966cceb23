"""Kind of load balancers, for other resources."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.instances.neighbours import Neighbour
from crofter.resources.nodebalancers import rules, store
from crofter.resources.nodebalancers.nodes import rules as nodes


def _remove(ctx: Context, nodebalancer_id: int) -> None:
    rules.remove(ctx, store.one(ctx, nodebalancer_id))


NODEBALANCER = kind_of(
    store.nodebalancer,
    name=store.KIND,
    url="/v4/nodebalancers/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
    taggable=True,
    remove=_remove,
)

NEIGHBOUR = Neighbour(deleted=nodes.leave, left=nodes.leave)
"""Callbacks of load balancers for instances."""
