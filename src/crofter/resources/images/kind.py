"""Images of accounts, as other rooms may ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.kinds import Kind, Owned
from crofter.resources.images import store
from crofter.resources.images.shapes import ImageView

_OWNED = Owned(store.image)


def _views(ctx: Context, ids: Sequence[int]) -> dict[int, ImageView]:
    return {one.id: one.view() for one in store.these(ctx, ids)}


IMAGE = Kind(
    name=store.KIND,
    url="/v4/images/private/{id}",
    existing=_OWNED.existing,
    labelled=_OWNED.labelled,
    views=_views,
    remove=_OWNED.remove,
)
