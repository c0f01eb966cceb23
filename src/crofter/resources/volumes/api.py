"""Volumes: those of an instance."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances import store as instances
from crofter.resources.volumes import store
from crofter.resources.volumes.shapes import VolumeView
from crofter.shapes import Page

TheInstance = Annotated[instances.Instance, Lookup(instances.one, "compute_id")]


@endpoint("GET /v4/compute/instances/{compute_id}/volumes", scope="computes:read_only", grant="compute:read_only")
def list_instance_volumes(ctx: Context, instance: TheInstance, listing: Listing) -> Page[VolumeView]:
    """List the volumes that are attached to an instance."""
    return listing.of(
        ctx,
        store.OF_INSTANCE[ctx.actor.restricted],
        lambda rows: store.views(ctx, rows),
        account_id=ctx.account_id,
        user_id=ctx.actor.user_id,
        instance_id=instance.id,
    )
