"""Load balancers, as other rooms may ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.kinds import Kind, Owned
from crofter.resources.nodebalancers import store
from crofter.resources.nodebalancers.shapes import NodeBalancerView

_OWNED = Owned(store.nodebalancer)


def _views(ctx: Context, ids: Sequence[int]) -> dict[int, NodeBalancerView]:
    return {view.id: view for view in store.views(ctx, store.these(ctx, ids))}


NODEBALANCER = Kind(
    name=store.KIND,
    url="/v4/nodebalancers/{id}",
    existing=_OWNED.existing,
    labelled=_OWNED.labelled,
    views=_views,
    taggable=True,
    remove=_OWNED.remove,
)
