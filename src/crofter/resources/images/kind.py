"""Images of accounts, as other resources may ask about them."""

from __future__ import annotations

from crofter.kinds import kind_of
from crofter.resources.images import store

IMAGE = kind_of(
    store.image,
    name=store.KIND,
    url="/v4/images/private/{id}",
    shown=lambda ctx, ids: store.views(store.these(ctx, ids)),
)
