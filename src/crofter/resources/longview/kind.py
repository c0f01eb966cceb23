"""Kind of Longview clients, for other resources."""

from __future__ import annotations

from crofter.kinds import kind_of
from crofter.resources.longview import rules, store

LONGVIEW = kind_of(
    store.longview_client,
    name=store.KIND,
    url="/v4/longview/clients/{id}",
    shown=lambda ctx, ids: rules.masked(store.these(ctx, ids)),
    remove=rules.remove,
)
