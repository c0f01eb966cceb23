"""Types: list and view, for all callers."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.types import store
from crofter.resources.types.store import TypeView
from crofter.shapes import Page

TheType = Annotated[store.Type, Lookup(store.one, "type_id")]


@endpoint("GET /v4/compute/types", scope="none", grant="any", catalogue="everybody")
def list_types(ctx: Context, listing: Listing) -> Page[TypeView]:
    """List the types that new instances can have."""
    return listing.of(ctx, store.CURRENT, lambda rows: [row.view() for row in rows])


@endpoint("GET /v4/compute/types-legacy", scope="none", grant="any", catalogue="everybody")
def list_legacy_types(ctx: Context, listing: Listing) -> Page[TypeView]:
    """List the deprecated types, each with the type that its instances can be upgraded to."""
    return listing.of(ctx, store.LEGACY, lambda rows: [row.view() for row in rows])


@endpoint("GET /v4/compute/types/{type_id}", scope="none", grant="any", catalogue="everybody")
def view_type(ctx: Context, type: TheType) -> TypeView:
    """View a type, current or deprecated."""
    return type.view()
