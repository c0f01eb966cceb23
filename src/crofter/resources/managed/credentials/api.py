"""Managed credentials: list, create, view, rename, change, delete, and the account's SSH key."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.managed.api import Member
from crofter.resources.managed.credentials import rules, store
from crofter.resources.managed.credentials.shapes import (
    CredentialCreate,
    CredentialSecrets,
    CredentialUpdate,
    CredentialView,
    SshKeyView,
)
from crofter.shapes import Page

TheCredential = Annotated[store.Credential, Lookup(store.one, "credential_id")]


@endpoint("GET /v4/managed/credentials", scope="account:read_only", grant="unrestricted")
def list_managed_credentials(ctx: Context, member: Member, listing: Listing) -> Page[CredentialView]:
    """List the credentials, without what is secret."""
    return listing.of(ctx, store.CREDENTIALS, rules.views, account_id=ctx.account_id)


@endpoint(
    "POST /v4/managed/credentials",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for credentials"),
)
def create_managed_credential(ctx: Context, member: Member, body: CredentialCreate) -> CredentialView:
    """Entrust a credential to the support staff."""
    return rules.create(ctx, body)


@endpoint("GET /v4/managed/credentials/sshkey", scope="account:read_only", grant="unrestricted")
def view_managed_ssh_key(ctx: Context, member: Member) -> SshKeyView:
    """View the public key that lets the support staff in."""
    return rules.public_key(ctx)


@endpoint("GET /v4/managed/credentials/{credential_id}", scope="account:read_write", grant="unrestricted")
def view_managed_credential(ctx: Context, credential: TheCredential) -> CredentialView:
    """View a credential, without its secrets."""
    return rules.view(credential)


@endpoint(
    "PUT /v4/managed/credentials/{credential_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for credentials"),
)
def update_managed_credential(ctx: Context, credential: TheCredential, body: CredentialUpdate) -> CredentialView:
    """Rename a credential."""
    return rules.rename(ctx, credential, body)


@endpoint(
    "POST /v4/managed/credentials/{credential_id}/update",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for credentials"),
)
def update_managed_credential_secrets(ctx: Context, credential: TheCredential, body: CredentialSecrets) -> None:
    """Change the username and password of a credential."""
    rules.change_secrets(ctx, credential, body)


@endpoint(
    "DELETE /v4/managed/credentials/{credential_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for credentials"),
)
def delete_managed_credential(ctx: Context, credential: TheCredential) -> None:
    """Take a credential back: the support staff can use it no longer."""
    store.delete(ctx, credential.id)


@endpoint(
    "POST /v4/managed/credentials/{credential_id}/revoke",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for credentials"),
)
def revoke_managed_credential(ctx: Context, credential: TheCredential) -> None:
    """Revoke a credential, which deletes it."""
    store.delete(ctx, credential.id)
