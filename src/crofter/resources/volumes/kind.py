"""Volumes, as other resources may ask about them."""

from __future__ import annotations

from crofter.kinds import kind_of
from crofter.resources.volumes import store

VOLUME = kind_of(
    store.volume,
    name=store.KIND,
    url="/v4/volumes/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
    taggable=True,
)
