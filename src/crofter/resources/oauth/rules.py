"""Rules of OAuth clients and their secrets."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.drivers import pictures
from crofter.errors import Invalid, Unavailable
from crofter.events import record
from crofter.keyring import new_token
from crofter.kinds import Entity
from crofter.resources.oauth import store
from crofter.resources.oauth.shapes import OAuthClientCreate, OAuthClientUpdate, OAuthClientView
from crofter.resources.oauth.store import Client
from crofter.shapes import given

MASKED = "<REDACTED>"
PICTURES: dict[str, pictures.Kind] = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF"}
MOST_BYTES = 512 * 1024
MOST_PIXELS = 4_000_000


def view(ctx: Context, client: Client, secret: str = MASKED) -> OAuthClientView:
    status: Any = client.status
    return OAuthClientView(
        id=client.public_id,
        label=client.label,
        public=client.public,
        redirect_uri=client.redirect_uri,
        secret=secret,
        status=status,
        thumbnail_url=thumbnail_url(ctx, client.public_id) if client.pictured else None,
    )


def thumbnail_url(ctx: Context, public_id: str) -> str:
    return f"{ctx.base_url}/v4/account/oauth-clients/{public_id}/thumbnail"


def create(ctx: Context, body: OAuthClientCreate) -> OAuthClientView:
    """Create a client. Its secret is shown when it is reset."""
    public_id = ctx.rng.hex(20)
    ctx.db.insert(
        store.client,
        account_id=ctx.account_id,
        public_id=public_id,
        label=body.label,
        redirect_uri=body.redirect_uri,
        public=body.public,
        secret_digest=ctx.runtime.keyring.digest(new_token(ctx.rng, "secret")),
        status="active",
        created=ctx.moment,
    )
    client = store.one(ctx, public_id)
    record(ctx, "oauth_client_create", _entity(client))
    return view(ctx, client)


def update(ctx: Context, client: Client, body: OAuthClientUpdate) -> OAuthClientView:
    if changes := given(body):
        _change(ctx, client, **changes)
    changed = store.one(ctx, client.public_id)
    record(ctx, "oauth_client_update", _entity(changed))
    return view(ctx, changed)


def reset_secret(ctx: Context, client: Client) -> OAuthClientView:
    """The new secret, shown this once; the old one is worth nothing from now on."""
    secret = new_token(ctx.rng, "secret")
    _change(ctx, client, secret_digest=ctx.runtime.keyring.digest(secret))
    record(ctx, "oauth_client_secret_reset", _entity(client))
    return view(ctx, client, secret)


def delete(ctx: Context, client: Client) -> None:
    """Every consent goes with the row, and every token and code with its consent."""
    ctx.db.delete(store.client, account_id=ctx.account_id, id=client.id)
    record(ctx, "oauth_client_delete", _entity(client))


def cleaned(content: bytes, kind: pictures.Kind) -> bytes:
    """Return the picture in a form that is safe to publish."""
    try:
        return pictures.cleaned(content, kind, most_pixels=MOST_PIXELS, most_bytes=MOST_BYTES)
    except pictures.Unfit as unfit:
        raise Invalid(str(unfit)) from unfit
    except pictures.Crowded:
        raise Unavailable from None


def set_thumbnail(ctx: Context, client: Client, picture: bytes) -> None:
    _change(ctx, client, thumbnail=picture)
    record(ctx, "oauth_client_update", _entity(client))


def _change(ctx: Context, client: Client, **changes: Any) -> None:
    ctx.db.update(store.client, {"account_id": ctx.account_id, "id": client.id}, **changes)


def _entity(client: Client) -> Entity:
    return Entity("oauth_client", client.public_id, client.label, f"/v4/account/oauth-clients/{client.public_id}")
