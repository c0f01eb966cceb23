"""Kind of instances, for other resources."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.instances import delete, store, views


def _remove(ctx: Context, instance_id: int) -> None:
    delete.delete(ctx, store.one(ctx, instance_id))


COMPUTE = kind_of(
    store.instance,
    name=store.KIND,
    url="/v4/compute/instances/{id}",
    shown=lambda ctx, ids: views.views(ctx, store.these_shown(ctx, ids)),
    taggable=True,
    remove=_remove,
)
