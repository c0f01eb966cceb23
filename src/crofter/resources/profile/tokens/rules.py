"""Which tokens may be made, and how they are shown."""

from __future__ import annotations

from crofter import clock, scopes
from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.profile.tokens import store
from crofter.resources.profile.tokens.shapes import TokenCreate, TokenUpdate, TokenView
from crofter.resources.profile.tokens.store import Token
from crofter.resources.users.rules import make_token
from crofter.shapes import UNSET, moment_in


def views(rows: list[Token]) -> list[TokenView]:
    return [view(row) for row in rows]


def view(row: Token, token: str | None = None) -> TokenView:
    return TokenView(row.created, row.expiry, row.id, row.label, row.scopes, token or row.shown)


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
    return view(store.one(ctx, token_id), plain)


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


def update(ctx: Context, token: Token, body: TokenUpdate) -> TokenView:
    if body.label is not UNSET:
        token.label = body.label
        store.rename(ctx, token.id, token.label)
    record(ctx, "token_update", _entity(token.id, token.label))
    return view(token)


def delete(ctx: Context, token: Token) -> None:
    store.delete(ctx, token.id)
    record(ctx, "token_delete", _entity(token.id, token.label))


def _entity(token_id: int, label: str) -> Entity:
    return Entity("token", token_id, label, f"/v4/profile/tokens/{token_id}")
