"""Instances, as other rooms may ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.kinds import Kind
from crofter.resources.instances import rules, store
from crofter.resources.instances.shapes import InstanceView


def _views(ctx: Context, ids: Sequence[int]) -> dict[int, InstanceView]:
    return {view.id: view for view in rules.views(store.these_shown(ctx, ids))}


def _remove(ctx: Context, instance_id: int) -> None:
    rules.delete(ctx, store.one(ctx, instance_id))


COMPUTE = Kind(
    name=store.KIND,
    url="/v4/compute/instances/{id}",
    existing=store.existing,
    views=_views,
    taggable=True,
    labelled=store.labels,
    remove=_remove,
)
