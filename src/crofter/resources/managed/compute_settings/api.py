"""Managed compute settings: list, view, update."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.managed.api import Member
from crofter.resources.managed.compute_settings import store
from crofter.resources.managed.compute_settings.store import ComputeSettingsUpdate, ComputeSettingsView
from crofter.shapes import Page

TheSetting = Annotated[store.Setting, Lookup(store.one, "compute_id")]


@endpoint("GET /v4/managed/compute-settings", scope="account:read_only", grant="unrestricted")
def list_managed_compute_settings(ctx: Context, member: Member, listing: Listing) -> Page[ComputeSettingsView]:
    """List how the support staff gets into each instance."""
    return listing.of(ctx, store.SETTINGS, lambda rows: [row.view() for row in rows], account_id=ctx.account_id)


@endpoint("GET /v4/managed/compute-settings/{compute_id}", scope="account:read_only", grant="unrestricted")
def view_managed_compute_settings(ctx: Context, setting: TheSetting) -> ComputeSettingsView:
    """View the support staff's access to an instance."""
    return setting.view()


@endpoint(
    "PUT /v4/managed/compute-settings/{compute_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for these settings"),
)
def update_managed_compute_settings(
    ctx: Context, setting: TheSetting, body: ComputeSettingsUpdate
) -> ComputeSettingsView:
    """Change how the support staff gets into an instance."""
    return store.update(ctx, setting, body)
