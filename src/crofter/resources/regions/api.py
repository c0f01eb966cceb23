"""Regions: list and view, for all callers."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.regions import store
from crofter.resources.regions.store import RegionView
from crofter.shapes import Page

TheRegion = Annotated[store.Region, Lookup(store.one, "region_id")]


@endpoint("GET /v4/regions", scope="none", grant="any", catalogue="everybody")
def list_regions(ctx: Context, listing: Listing) -> Page[RegionView]:
    """List the regions; not every service is available in every one."""
    return listing.of(ctx, store.REGIONS, lambda rows: [row.view(ctx) for row in rows])


@endpoint("GET /v4/regions/{region_id}", scope="none", grant="any", catalogue="everybody")
def view_region(ctx: Context, region: TheRegion) -> RegionView:
    """View a region."""
    return region.view(ctx)
