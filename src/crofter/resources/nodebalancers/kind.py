"""Load balancers, as other resources may ask about them."""

from __future__ import annotations

from crofter.kinds import kind_of
from crofter.resources.nodebalancers import store

NODEBALANCER = kind_of(
    store.nodebalancer,
    name=store.KIND,
    url="/v4/nodebalancers/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
    taggable=True,
)
