"""Authorisations of OAuth clients, and their revocation."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, or_, select
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.oauth.rules import thumbnail_url
from crofter.resources.oauth.store import authorization, client
from crofter.shapes import Filtered, Id, Moment, View, Words

# ---- shapes ---------------------------------------------------------------------------------------------------------


class AuthorizedAppView(View):
    """An application that may act for the user."""

    created: Filtered[Moment]
    expiry: Filtered[Moment | None]
    id: Id
    label: str
    scopes: Annotated[Words[str], Meta(description="What the application may do, separated by spaces.")]
    thumbnail_url: str | None
    website: Annotated[str | None, Meta(description="Where the application lives.")]


# ---- rows -----------------------------------------------------------------------------------------------------------


class App(Row):
    created: str
    expiry: str | None
    id: int
    scopes: str
    label: str
    public_id: str
    redirect_uri: str
    pictured: bool


_ALLOWED = (
    select(
        authorization.c.created,
        authorization.c.expiry,
        authorization.c.id,
        authorization.c.scopes,
        client.c.label,
        client.c.public_id,
        client.c.redirect_uri,
        client.c.thumbnail.is_not(None).label("pictured"),
    )
    .join(client, client.c.id == authorization.c.client_id)
    .where(
        authorization.c.user_id == bindparam("user_id"),
        authorization.c.session_id.is_(None),  # the console is part of the server and needs no consent
        or_(authorization.c.expiry.is_(None), authorization.c.expiry > bindparam("moment")),
    )
)
APPS = Collection(
    AuthorizedAppView,
    _ALLOWED,
    App,
    key=authorization.c.id,
    columns={"created": authorization.c.created, "expiry": authorization.c.expiry},
)
_ONE = query(_ALLOWED.where(authorization.c.id == bindparam("app_id")), App)


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look at one's applications is bounded by."""
    return {"user_id": ctx.actor.user_id, "moment": ctx.moment}


def one(ctx: Context, app_id: int) -> App:
    return ctx.db.one(_ONE, app_id=app_id, **scope(ctx))


# ---- rules ----------------------------------------------------------------------------------------------------------


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
    """Every token and code that came from the authorization goes with it."""
    ctx.db.delete(authorization, user_id=ctx.actor.user_id, id=app.id)
    # There is no action of its own for this; what ends are the application's tokens.
    record(ctx, "token_delete", Entity("token", app.id, app.label, f"/v4/profile/apps/{app.id}"))
