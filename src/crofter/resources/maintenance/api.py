"""Maintenance: list."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.edge.listing import Listing
from crofter.resources.maintenance import store
from crofter.resources.maintenance.shapes import MaintenanceView
from crofter.shapes import Page


@endpoint("GET /v4beta/account/maintenance", scope="maintenance:read_only", grant="any", slow=True)
def list_maintenance(ctx: Context, listing: Listing) -> Page[MaintenanceView]:
    """List maintenance that is scheduled for instances that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.BY_RESTRICTED[ctx.actor.restricted]
    return listing.of(ctx, collection, lambda rows: [row.view() for row in rows], **bounds)
