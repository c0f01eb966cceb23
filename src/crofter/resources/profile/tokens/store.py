"""Personal access tokens of one user; those of applications are elsewhere."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, or_, select

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.resources.profile.tokens.shapes import TokenView
from crofter.resources.users.store import token


class Token(Row):
    created: str
    expiry: str | None
    id: int
    label: str
    scopes: str
    shown: str


_ACTIVE = select(*(token.c[name] for name in Token.__struct_fields__)).where(
    token.c.user_id == bindparam("user_id"),
    token.c.authorization_id.is_(None),
    or_(token.c.expiry.is_(None), token.c.expiry > bindparam("moment")),
)
TOKENS = Collection(
    TokenView, _ACTIVE, Token, key=token.c.id, columns={"created": token.c.created, "label": token.c.label}
)
_ONE = query(_ACTIVE.where(token.c.id == bindparam("token_id")), Token)


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look at one's tokens is bounded by."""
    return {"user_id": ctx.actor.user_id, "moment": ctx.moment}


def one(ctx: Context, token_id: int) -> Token:
    return ctx.db.one(_ONE, token_id=token_id, **scope(ctx))


def rename(ctx: Context, token_id: int, label: str) -> None:
    ctx.db.update(token, {"user_id": ctx.actor.user_id, "id": token_id}, label=label)


def delete(ctx: Context, token_id: int) -> None:
    ctx.db.delete(token, user_id=ctx.actor.user_id, id=token_id)
