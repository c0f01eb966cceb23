"""OAuth clients: register, change, give a new secret, picture, remove."""

from __future__ import annotations

from typing import Annotated

import msgspec

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.edge.problems import UnsupportedMediaType
from crofter.resources.oauth import rules, store
from crofter.resources.oauth.shapes import OAuthClientCreate, OAuthClientUpdate, OAuthClientView
from crofter.results import Reply, Upload
from crofter.shapes import Page

TheClient = Annotated[store.Client, Lookup(store.one, "client_id")]
TheThumbnail = Annotated[store.Thumbnail, Lookup(store.thumbnail, "client_id")]
# Headers of a public picture, which may be embedded in foreign pages: they permit display only.
HARMLESS = (
    ("cache-control", "public, max-age=300"),
    ("content-security-policy", "default-src 'none'; sandbox"),
    ("cross-origin-resource-policy", "cross-origin"),
    ("content-disposition", 'inline; filename="thumbnail.png"'),
    ("vary", "Accept"),
)


class Picture(Upload, frozen=True):
    """An image, decoded and made harmless."""

    def __post_init__(self) -> None:
        kind = rules.PICTURES.get(self.content_type.partition(";")[0].strip().lower())
        if kind is None:
            raise UnsupportedMediaType
        msgspec.structs.force_setattr(self, "content", rules.cleaned(self.content, kind))


@endpoint("GET /v4/account/oauth-clients", scope="account:read_only", grant="account:read_only")
def list_oauth_clients(ctx: Context, listing: Listing) -> Page[OAuthClientView]:
    """List the OAuth clients of the account."""
    return listing.of(
        ctx, store.CLIENTS, lambda rows: [rules.view(ctx, row) for row in rows], account_id=ctx.account_id
    )


@endpoint(
    "POST /v4/account/oauth-clients",
    scope="account:read_write",
    grant="account:read_write",
    events=("oauth_client_create",),
)
def create_oauth_client(ctx: Context, body: OAuthClientCreate) -> OAuthClientView:
    """Register an OAuth client; reset its secret to learn it."""
    return rules.create(ctx, body)


@endpoint("GET /v4/account/oauth-clients/{client_id}", scope="account:read_only", grant="account:read_only")
def view_oauth_client(ctx: Context, client: TheClient) -> OAuthClientView:
    """View an OAuth client."""
    return rules.view(ctx, client)


@endpoint(
    "PUT /v4/account/oauth-clients/{client_id}",
    scope="account:read_write",
    grant="account:read_write",
    events=("oauth_client_update",),
)
def update_oauth_client(ctx: Context, client: TheClient, body: OAuthClientUpdate) -> OAuthClientView:
    """Change an OAuth client."""
    return rules.update(ctx, client, body)


@endpoint(
    "DELETE /v4/account/oauth-clients/{client_id}",
    scope="account:read_write",
    grant="account:read_write",
    events=("oauth_client_delete",),
)
def delete_oauth_client(ctx: Context, client: TheClient) -> None:
    """Delete an OAuth client; every token that was issued to it ends at once."""
    rules.delete(ctx, client)


@endpoint(
    "POST /v4/account/oauth-clients/{client_id}/reset-secret",
    scope="account:read_write",
    grant="account:read_write",
    events=("oauth_client_secret_reset",),
)
def reset_oauth_client_secret(ctx: Context, client: TheClient) -> OAuthClientView:
    """Give an OAuth client a new secret, shown this once; the old one ends at once."""
    return rules.reset_secret(ctx, client)


@endpoint("GET /v4/account/oauth-clients/{client_id}/thumbnail", scope="none", grant="any", replies=("image/png",))
def view_oauth_client_thumbnail(ctx: Context, thumbnail: TheThumbnail) -> Reply:
    """View the picture of an OAuth client."""
    return Reply(bytes(thumbnail.content), "image/png", HARMLESS)


@endpoint(
    "PUT /v4/account/oauth-clients/{client_id}/thumbnail",
    scope="account:read_write",
    grant="account:read_write",
    events=("oauth_client_update",),
    accepts=tuple(rules.PICTURES),
    max_body=rules.MOST_BYTES,
)
def update_oauth_client_thumbnail(ctx: Context, client: TheClient, picture: Picture) -> None:
    """Set the picture of an OAuth client, visible to everyone: PNG, JPEG or GIF."""
    rules.set_thumbnail(ctx, client, picture.content)
