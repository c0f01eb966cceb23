"""Volumes, as other rooms may ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.kinds import Kind, Owned
from crofter.resources.volumes import store
from crofter.resources.volumes.shapes import VolumeView

_OWNED = Owned(store.volume)


def _views(ctx: Context, ids: Sequence[int]) -> dict[int, VolumeView]:
    return {view.id: view for view in store.views(ctx, store.these(ctx, ids))}


VOLUME = Kind(
    name=store.KIND,
    url="/v4/volumes/{id}",
    existing=_OWNED.existing,
    labelled=_OWNED.labelled,
    views=_views,
    taggable=True,
    remove=_OWNED.remove,
)
