"""Volumes: list, create, view, update, attach, detach, resize, clone and delete; and those of an instance."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances import store as instances
from crofter.resources.volumes import rules, store
from crofter.resources.volumes.shapes import (
    VolumeAttach,
    VolumeClone,
    VolumeCreate,
    VolumeResize,
    VolumeUpdate,
    VolumeView,
)
from crofter.resources.volumes.store import Volume
from crofter.shapes import Page

TheInstance = Annotated[instances.Instance, Lookup(instances.one, "compute_id")]
TheVolume = Annotated[Volume, Lookup(store.one, "volume_id")]
BOTH = "volumes:read_write computes:read_write"


@endpoint("GET /v4/compute/instances/{compute_id}/volumes", scope="computes:read_only", grant="compute:read_only")
def list_instance_volumes(ctx: Context, instance: TheInstance, listing: Listing) -> Page[VolumeView]:
    """List the volumes that are attached to an instance."""
    collection = store.OF_INSTANCE[ctx.actor.restricted]
    bounds = _bounds(ctx) | {"instance_id": instance.id}
    return listing.of(ctx, collection, lambda rows: store.views(ctx, rows), **bounds)


@endpoint("GET /v4/volumes", scope="volumes:read_only", grant="any")
def list_volumes(ctx: Context, listing: Listing) -> Page[VolumeView]:
    """List the volumes that the caller may view."""
    collection = store.ALL[ctx.actor.restricted]
    return listing.of(ctx, collection, lambda rows: store.views(ctx, rows), **_bounds(ctx))


def _bounds(ctx: Context) -> dict[str, int]:
    account = {"account_id": ctx.account_id}
    return account | {"user_id": ctx.actor.user_id} if ctx.actor.restricted else account


@endpoint(
    "POST /v4/volumes",
    scope="volumes:read_write",
    grant="add_volumes",
    events=("volume_create", "volume_attach", "tag_create"),
)
def create_volume(ctx: Context, body: VolumeCreate) -> VolumeView:
    """Create a volume, and attach it if an instance is named; this incurs a charge."""
    return rules.create(ctx, body)


@endpoint("GET /v4/volumes/{volume_id}", scope="volumes:read_only", grant="volume:read_only")
def view_volume(ctx: Context, volume: TheVolume) -> VolumeView:
    """View a volume."""
    (view,) = store.views(ctx, [volume])
    return view


@endpoint(
    "PUT /v4/volumes/{volume_id}",
    scope="volumes:read_write",
    grant="volume:read_write",
    events=("volume_update", "tag_create"),
)
def update_volume(ctx: Context, volume: TheVolume, body: VolumeUpdate) -> VolumeView:
    """Change a volume's label and tags."""
    return rules.update(ctx, volume, body)


@endpoint(
    "DELETE /v4/volumes/{volume_id}",
    scope="volumes:read_write",
    grant="volume:read_write",
    events=("volume_delete",),
)
def delete_volume(ctx: Context, volume: TheVolume) -> None:
    """Delete a volume that is not attached, with everything on it."""
    rules.delete(ctx, volume)


@endpoint(
    "POST /v4/volumes/{volume_id}/attach",
    scope=BOTH,
    grant="volume:read_write",
    events=("volume_attach",),
)
def attach_volume(ctx: Context, volume: TheVolume, body: VolumeAttach) -> VolumeView:
    """Attach a volume to an instance of its region."""
    return rules.attach(ctx, volume, body)


@endpoint(
    "POST /v4/volumes/{volume_id}/clone", scope="volumes:read_write", grant="add_volumes", events=("volume_clone",)
)
def clone_volume(ctx: Context, volume: TheVolume, body: VolumeClone) -> VolumeView:
    """Copy a volume into a new one of the same size and region; this incurs a charge."""
    return rules.clone(ctx, volume, body)


@endpoint("POST /v4/volumes/{volume_id}/detach", scope=BOTH, grant="volume:read_write", events=("volume_detach",))
def detach_volume(ctx: Context, volume: TheVolume) -> None:
    """Detach a volume from its instance, which may be running."""
    rules.detach(ctx, volume)


@endpoint(
    "POST /v4/volumes/{volume_id}/resize",
    scope="volumes:read_write",
    grant="volume:read_write",
    events=("volume_resize",),
)
def resize_volume(ctx: Context, volume: TheVolume, body: VolumeResize) -> None:
    """Enlarge a volume; it cannot be made smaller."""
    rules.resize(ctx, volume, body)
