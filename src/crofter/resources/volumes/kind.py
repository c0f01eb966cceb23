"""Kind of volumes, for other resources."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.errors import Reason
from crofter.kinds import kind_of
from crofter.resources.instances.neighbours import Neighbour
from crofter.resources.instances.store import Instance
from crofter.resources.volumes import attaching, operations, store, sweeping


def _remove(ctx: Context, volume_id: int) -> None:
    operations.remove(ctx, store.one(ctx, volume_id))


VOLUME = kind_of(
    store.volume,
    name=store.KIND,
    url="/v4/volumes/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
    taggable=True,
    remove=_remove,
)


def _against_leaving(ctx: Context, instance: Instance) -> Iterator[Reason]:
    if store.attached(ctx, instance.id):
        yield Reason("Detach all volumes before migrating to another region", "region")


def _has_volume(ctx: Context, instance: Instance, volume_id: int, field: str) -> bool:
    if not store.usable(ctx, volume_id, instance):
        return False
    ctx.runtime.kinds.require(ctx, store.KIND, [volume_id], "read_write", field=field)
    return True


def _deleted(ctx: Context, instance: Instance) -> None:
    for volume in store.attached(ctx, instance.id):
        attaching.release(ctx, volume, instance)


NEIGHBOUR = Neighbour(
    against_leaving=_against_leaving,
    has_volume=_has_volume,
    booting=attaching.booting,
    redeployed=attaching.redeployed,
    deleted=_deleted,
    in_storage=sweeping.in_storage,
)
"""Callbacks of volumes for instances."""
