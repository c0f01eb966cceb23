"""Authorised applications: list, view, revoke."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.profile.apps import store
from crofter.resources.profile.apps.store import AuthorizedAppView
from crofter.shapes import Page

TheApp = Annotated[store.App, Lookup(store.one, "app_id")]


@endpoint("GET /v4/profile/apps", scope="account:read_only", grant="any")
def list_apps(ctx: Context, listing: Listing) -> Page[AuthorizedAppView]:
    """List the applications that may act for you."""
    return listing.of(ctx, store.APPS, lambda rows: [store.view(ctx, row) for row in rows], **store.scope(ctx))


@endpoint("GET /v4/profile/apps/{app_id}", scope="account:read_only", grant="any")
def view_app(ctx: Context, app: TheApp) -> AuthorizedAppView:
    """View an application that may act for you."""
    return store.view(ctx, app)


@endpoint("DELETE /v4/profile/apps/{app_id}", scope="account:read_write", grant="any", events=("token_delete",))
def delete_app(ctx: Context, app: TheApp) -> None:
    """Take back what you allowed an application; its tokens end at once."""
    store.revoke(ctx, app)
