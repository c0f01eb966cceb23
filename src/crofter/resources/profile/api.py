"""The profile: view and change oneself."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.profile import store
from crofter.resources.profile.store import ProfileUpdate, ProfileView


@endpoint("GET /v4/profile", scope="*", grant="any")
def view_profile(ctx: Context) -> ProfileView:
    """View who you are."""
    return store.view(ctx)


@endpoint("PUT /v4/profile", scope="account:read_write", grant="any", events=("profile_update",))
def update_profile(ctx: Context, body: ProfileUpdate) -> ProfileView:
    """Change your address and your settings."""
    return store.update(ctx, body)
