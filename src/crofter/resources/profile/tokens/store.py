"""Personal access tokens of one user; those of applications are elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from crofter import clock, scopes
from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, or_, select
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.users.rules import make_token
from crofter.resources.users.store import token
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, Revealed, View, Words, moment_in

# ---- shapes ---------------------------------------------------------------------------------------------------------


def moment_complaint(value: str) -> str | None:
    try:
        moment_in(value)
    except ValueError:
        return "Must be a date-time: YYYY-MM-DDTHH:MM:SS"
    return None


TokenLabel = Annotated[str, Meta(min_length=1, max_length=100, description="What the token is for.")]
Scopes = Annotated[
    Words[str],
    Meta(
        max_length=1000,
        description="What the token may do, separated by spaces; `*` for everything.",
        examples=["computes:read_write account:read_only"],
    ),
]
Expiry = Annotated[
    str,
    Meta(
        description="When the token ends; null: never.",
        examples=["2027-03-01T12:00:00"],
        extra={"check": moment_complaint},
        extra_json_schema={"format": "date-time"},
    ),
]


class TokenView(View):
    """A personal access token."""

    created: Filtered[Moment]
    expiry: Moment | None
    id: Id
    label: Filtered[TokenLabel]
    scopes: Scopes
    token: Revealed[
        Annotated[str, Meta(description="The whole token when it is made, its first 16 characters afterwards.")]
    ]


class TokenCreate(Body, forbid_unknown_fields=True):
    scopes: Scopes | None = None
    expiry: Expiry | None = None
    label: TokenLabel = "Personal access token"


class TokenUpdate(Body):
    label: Optional[TokenLabel] = UNSET


# ---- rows -----------------------------------------------------------------------------------------------------------


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


# ---- rules ----------------------------------------------------------------------------------------------------------


def views(rows: list[Token]) -> list[TokenView]:
    return [view(row) for row in rows]


def view(row: Token, plain: str | None = None) -> TokenView:
    return TokenView(row.created, row.expiry, row.id, row.label, row.scopes, plain or row.shown)


def create(ctx: Context, body: TokenCreate) -> TokenView:
    """A token that may do no more than the one it was made with."""
    reasons: list[Reason] = []
    allowed = _scopes(ctx, body.scopes, reasons)
    expiry = _expiry(ctx, body.expiry, reasons)
    if reasons:
        raise Invalid.all(reasons)
    actor = ctx.actor
    token_id, plain = make_token(
        ctx.runtime, ctx.db, actor.account_id, actor.user_id, label=body.label, scopes=allowed, expiry=expiry
    )
    record(ctx, "token_create", _entity(token_id, body.label))
    return view(one(ctx, token_id), plain)


def _scopes(ctx: Context, asked: str | None, reasons: list[Reason]) -> str:
    held = ctx.actor.scopes
    if asked is None:
        return " ".join(sorted(held))
    try:
        wanted = scopes.parse(asked)
    except ValueError as unknown:
        reasons.append(Reason(f"{unknown} is not a scope", "scopes"))
        return ""
    if not wanted:
        reasons.append(Reason("scopes is required", "scopes"))
    elif not scopes.within(wanted, held):
        reasons.append(Reason("Must not exceed the scopes of the token in use", "scopes"))
    return " ".join(wanted)


def _expiry(ctx: Context, asked: str | None, reasons: list[Reason]) -> str | None:
    if asked is None:
        return None
    moment = moment_in(asked)
    if moment <= ctx.now:
        reasons.append(Reason("Must be in the future", "expiry"))
    return clock.text(moment)


def update(ctx: Context, row: Token, body: TokenUpdate) -> TokenView:
    if body.label is not UNSET:
        row.label = body.label
        ctx.db.update(token, {"user_id": ctx.actor.user_id, "id": row.id}, label=row.label)
    record(ctx, "token_update", _entity(row.id, row.label))
    return view(row)


def delete(ctx: Context, row: Token) -> None:
    ctx.db.delete(token, user_id=ctx.actor.user_id, id=row.id)
    record(ctx, "token_delete", _entity(row.id, row.label))


def _entity(token_id: int, label: str) -> Entity:
    return Entity("token", token_id, label, f"/v4/profile/tokens/{token_id}")
