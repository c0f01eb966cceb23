"""Authentication of tokens, and permissions of users."""

from __future__ import annotations

from collections.abc import Callable

from crofter import clock, scopes
from crofter.context import Actor, Context, Runtime
from crofter.db import Session
from crofter.resources.users import store


def authenticate(runtime: Runtime, db: Session, presented: str) -> Actor | None:
    """The actor behind a token that is known, not expired, and of an open account."""
    digest, moment = runtime.keyring.digest(presented), clock.text(runtime.clock.now())
    return _actor(db.maybe(store.BEARER, digest=digest, moment=moment))


def authenticating(runtime: Runtime, db: Session, presented: str) -> Callable[[], Actor | None]:
    """Start the lookup of a token and return a function for its result."""
    digest, moment = runtime.keyring.digest(presented), clock.text(runtime.clock.now())
    bearer = db.maybe_later(store.BEARER, digest=digest, moment=moment)
    return lambda: _actor(bearer())


def consent_of(ctx: Context) -> int | None:
    """The consent that the caller's token came from; None for a personal token."""
    consent_id: int | None = ctx.db.value(store.CONSENT, token_id=ctx.actor.token_id)
    return consent_id


def still(runtime: Runtime, db: Session, token_id: int, consent_id: int | None) -> Actor | None:
    """The actor behind a token that was shown earlier, or by now behind a newer one of the same consent."""
    moment = clock.text(runtime.clock.now())
    return _actor(db.maybe(store.STILL, token_id=token_id, consent_id=consent_id, moment=moment))


def _actor(row: store.Bearer | None) -> Actor | None:
    if row is None:
        return None
    return Actor(row.account_id, row.user_id, row.username, row.restricted, row.token_id, scopes.held(row.scopes))


def permits(ctx: Context, kind: str, object_id: int, level: str) -> bool:
    """True if the caller's grants allow ``level`` on the object. Says nothing about its existence."""
    actor = ctx.actor
    if not actor.restricted:
        return True
    held = store.level(ctx, kind, object_id)
    return held == "read_write" or held == level


def entrust(ctx: Context, kind: str, object_id: int) -> None:
    """A restricted user who creates an object may do everything with it."""
    if ctx.actor.restricted:
        ctx.db.insert(store.grant, user_id=ctx.actor.user_id, kind=kind, object_id=object_id, level="read_write")


def forget(ctx: Context, kind: str, object_id: int) -> None:
    """Delete the grants on an object that was deleted or moved to another account."""
    ctx.db.delete(store.grant, kind=kind, object_id=object_id)


def permits_globally(ctx: Context, grant: str, level: str | None = None) -> bool:
    """True if the caller holds a global grant: a flag, or an access level."""
    if not ctx.actor.restricted:
        return True
    held = store.global_grants(ctx).get(grant)
    if level is None:
        return held is True
    return held == "read_write" or held == level
