"""Preferences: one document for each user and client."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.db import Id, Json, identity, query, table
from crofter.db.sql import Column, ForeignKey, Index, bindparam, delete, func, literal_column, select, text
from crofter.resources.oauth.store import authorization
from crofter.resources.users.store import token

preference = table(
    "preference",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False),
    # Null for personal access tokens, which belong to no client.
    Column("client_id", Id, ForeignKey("oauth_client.id", ondelete="CASCADE"), index=True),
    Column("document", Json, nullable=False),
    Index("uq_preference_client", "user_id", text("coalesce(client_id, 0)"), unique=True),
)
_CLIENT = func.coalesce(preference.c.client_id, literal_column("0"))

_MINE = (preference.c.user_id == bindparam("user_id")) & (bindparam("client_id", type_=Id) == _CLIENT)
_KEPT = query(select(preference.c.document).where(_MINE))
_FORGET = query(delete(preference).where(_MINE))
_CLIENT_OF_TOKEN = query(
    select(authorization.c.client_id)
    .join(token, token.c.authorization_id == authorization.c.id)
    .where(token.c.id == bindparam("token_id"))
)


def client_id(ctx: Context) -> int | None:
    """The client that the caller's token was given to, if it was given to one."""
    client: int | None = ctx.db.value(_CLIENT_OF_TOKEN, token_id=ctx.actor.token_id)
    return client


def document(ctx: Context) -> dict[str, Any]:
    return ctx.db.value(_KEPT, user_id=ctx.actor.user_id, client_id=client_id(ctx) or 0) or {}


def replace(ctx: Context, document: dict[str, Any]) -> None:
    client = client_id(ctx)
    ctx.db.run(_FORGET, user_id=ctx.actor.user_id, client_id=client or 0)
    ctx.db.insert(preference, user_id=ctx.actor.user_id, client_id=client, document=document)
