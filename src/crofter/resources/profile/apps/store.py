"""What a user has allowed OAuth clients to do."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, or_, select

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.resources.oauth.store import authorization, client
from crofter.resources.profile.apps.shapes import AuthorizedAppView


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


def delete(ctx: Context, app_id: int) -> None:
    """Every token and code that came from it goes with it."""
    ctx.db.delete(authorization, user_id=ctx.actor.user_id, id=app_id)
