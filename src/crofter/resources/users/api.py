"""Users of the account: invite, change, remove."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.users import rules, store
from crofter.resources.users.shapes import UserCreate, UserUpdate, UserView
from crofter.shapes import Page

TheUser = Annotated[store.User, Lookup(store.by_username, "username")]


@endpoint("GET /v4/account/users", scope="account:read_only", grant="unrestricted")
def list_users(ctx: Context, listing: Listing) -> Page[UserView]:
    """List the users of the account."""
    return listing.of(ctx, store.USERS, lambda rows: rules.views(ctx, rows), account_id=ctx.account_id)


@endpoint("POST /v4/account/users", scope="account:read_write", grant="unrestricted", events=("user_create",))
def create_user(ctx: Context, body: UserCreate) -> UserView:
    """Create a user, who is sent an invitation to set a password."""
    return rules.create(ctx, body)


@endpoint("GET /v4/account/users/{username}", scope="account:read_only", grant="unrestricted")
def view_user(ctx: Context, user: TheUser) -> UserView:
    """View a user."""
    return rules.views(ctx, [user])[0]


@endpoint("PUT /v4/account/users/{username}", scope="account:read_write", grant="unrestricted", events=("user_update",))
def update_user(ctx: Context, user: TheUser, body: UserUpdate) -> UserView:
    """Rename a user, change the address, or restrict the user."""
    return rules.update(ctx, user, body)


@endpoint(
    "DELETE /v4/account/users/{username}", scope="account:read_write", grant="unrestricted", events=("user_delete",)
)
def delete_user(ctx: Context, user: TheUser) -> None:
    """Delete a user; its tokens and sessions end at once."""
    rules.delete(ctx, user)
