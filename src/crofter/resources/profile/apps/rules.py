"""How authorised applications are shown, and what revoking one does."""

from __future__ import annotations

from urllib.parse import urlsplit

from crofter.context import Context
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.oauth.rules import thumbnail_url
from crofter.resources.profile.apps import store
from crofter.resources.profile.apps.shapes import AuthorizedAppView
from crofter.resources.profile.apps.store import App


def view(ctx: Context, app: App) -> AuthorizedAppView:
    return AuthorizedAppView(
        created=app.created,
        expiry=app.expiry,
        id=app.id,
        label=app.label,
        scopes=app.scopes,
        thumbnail_url=thumbnail_url(ctx, app.public_id) if app.pictured else None,
        website=_website(app.redirect_uri),
    )


def _website(redirect_uri: str) -> str:
    parts = urlsplit(redirect_uri)
    return f"{parts.scheme}://{parts.netloc}"


def revoke(ctx: Context, app: App) -> None:
    store.delete(ctx, app.id)
    # There is no action of its own for this; what ends are the application's tokens.
    record(ctx, "token_delete", Entity("token", app.id, app.label, f"/v4/profile/apps/{app.id}"))
