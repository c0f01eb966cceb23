"""Grants: of any user of the account, and one's own."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.users.api import TheUser
from crofter.resources.users.grants import rules
from crofter.resources.users.grants.shapes import GrantsUpdate, GrantsView
from crofter.results import NoContent, ReadAfterCommit


@endpoint("GET /v4/account/users/{username}/grants", scope="account:read_only", grant="unrestricted", slow=True)
def view_user_grants(ctx: Context, user: TheUser) -> GrantsView | NoContent:
    """View what a restricted user may do, with every object of the account; nothing for an unrestricted user."""
    return rules.view(ctx, user.id, all_objects=True) if user.restricted else NoContent()


@endpoint(
    "PUT /v4/account/users/{username}/grants",
    scope="account:read_write",
    grant="unrestricted",
    events=("user_update",),
)
def update_user_grants(ctx: Context, user: TheUser, body: GrantsUpdate) -> ReadAfterCommit[GrantsView]:
    """Change what a restricted user may do; what is not mentioned stays as it is."""
    rules.update(ctx, user, body)
    return ReadAfterCommit(lambda after: rules.view(after, user.id, all_objects=True))


@endpoint("GET /v4/profile/grants", scope="*", grant="any", slow=True)
def view_grants(ctx: Context) -> GrantsView | NoContent:
    """View what you may do, if you are restricted; nothing if you are not."""
    return rules.view(ctx, ctx.actor.user_id, all_objects=False) if ctx.actor.restricted else NoContent()
