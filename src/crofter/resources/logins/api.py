"""Logins: of the whole account, and one's own."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.logins import store
from crofter.resources.logins.store import LoginView
from crofter.shapes import Page

TheLogin = Annotated[store.Login, Lookup(store.one, "login_id")]
OwnLogin = Annotated[store.Login, Lookup(store.own, "login_id")]


@endpoint("GET /v4/account/logins", scope="account:read_only", grant="unrestricted")
def list_account_logins(ctx: Context, listing: Listing) -> Page[LoginView]:
    """List the logins of all users in the last 90 days, newest first."""
    return listing.of(ctx, store.OF_ACCOUNT, store.views, **store.scope(ctx))


@endpoint("GET /v4/account/logins/{login_id}", scope="account:read_only", grant="unrestricted")
def view_account_login(ctx: Context, login: TheLogin) -> LoginView:
    """View a login of any user of the account."""
    return store.view(login)


@endpoint("GET /v4/profile/logins", scope="account:read_only", grant="any")
def list_logins(ctx: Context, listing: Listing) -> Page[LoginView]:
    """List your own logins of the last 90 days, newest first."""
    return listing.of(ctx, store.OF_USER, store.views, **store.own_scope(ctx))


@endpoint("GET /v4/profile/logins/{login_id}", scope="account:read_only", grant="any")
def view_login(ctx: Context, login: OwnLogin) -> LoginView:
    """View a login of your own."""
    return store.view(login)
