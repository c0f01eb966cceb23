"""Personal access tokens: make, name, revoke."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.profile.tokens import store
from crofter.resources.profile.tokens.store import TokenCreate, TokenUpdate, TokenView
from crofter.shapes import Page

TheToken = Annotated[store.Token, Lookup(store.one, "token_id")]


@endpoint("GET /v4/profile/tokens", scope="account:read_only", grant="any")
def list_tokens(ctx: Context, listing: Listing) -> Page[TokenView]:
    """List your personal access tokens that are good."""
    return listing.of(ctx, store.TOKENS, store.views, **store.scope(ctx))


@endpoint("POST /v4/profile/tokens", scope="account:read_write", grant="any", events=("token_create",))
def create_token(ctx: Context, body: TokenCreate) -> TokenView:
    """Create a personal access token; this answer alone shows all of it."""
    return store.create(ctx, body)


@endpoint("GET /v4/profile/tokens/{token_id}", scope="account:read_only", grant="any")
def view_token(ctx: Context, token: TheToken) -> TokenView:
    """View a personal access token."""
    return store.view(token)


@endpoint("PUT /v4/profile/tokens/{token_id}", scope="account:read_write", grant="any", events=("token_update",))
def update_token(ctx: Context, token: TheToken, body: TokenUpdate) -> TokenView:
    """Rename a personal access token."""
    return store.update(ctx, token, body)


@endpoint("DELETE /v4/profile/tokens/{token_id}", scope="account:read_write", grant="any", events=("token_delete",))
def delete_token(ctx: Context, token: TheToken) -> None:
    """Revoke a personal access token, at once."""
    store.delete(ctx, token)
