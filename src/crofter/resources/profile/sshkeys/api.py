"""SSH keys: add, name, remove."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.profile.sshkeys import store
from crofter.resources.profile.sshkeys.store import SshKeyCreate, SshKeyUpdate, SshKeyView
from crofter.shapes import Page

TheKey = Annotated[store.SshKey, Lookup(store.one, "key_id")]


@endpoint("GET /v4/profile/sshkeys", scope="account:read_only", grant="any")
def list_ssh_keys(ctx: Context, listing: Listing) -> Page[SshKeyView]:
    """List your SSH keys."""
    return listing.of(ctx, store.KEYS, store.views, user_id=ctx.actor.user_id)


@endpoint("POST /v4/profile/sshkeys", scope="account:read_write", grant="any", events=("user_ssh_key_add",))
def create_ssh_key(ctx: Context, body: SshKeyCreate) -> SshKeyView:
    """Add an SSH key."""
    return store.create(ctx, body)


@endpoint("GET /v4/profile/sshkeys/{key_id}", scope="account:read_only", grant="any")
def view_ssh_key(ctx: Context, key: TheKey) -> SshKeyView:
    """View an SSH key."""
    return store.view(key)


@endpoint("PUT /v4/profile/sshkeys/{key_id}", scope="account:read_write", grant="any", events=("user_ssh_key_update",))
def update_ssh_key(ctx: Context, key: TheKey, body: SshKeyUpdate) -> SshKeyView:
    """Rename an SSH key."""
    return store.update(ctx, key, body)


@endpoint(
    "DELETE /v4/profile/sshkeys/{key_id}", scope="account:read_write", grant="any", events=("user_ssh_key_delete",)
)
def delete_ssh_key(ctx: Context, key: TheKey) -> None:
    """Remove an SSH key."""
    store.delete(ctx, key)
