"""Sessions of signed-in users, and trusted browsers."""

from __future__ import annotations

from crofter import clock
from crofter.clock import DAY, HOUR, MINUTE
from crofter.context import ALL_SCOPES, Actor, Context
from crofter.login import store
from crofter.login.store import Person, SignedIn
from crofter.resources.logins.store import device

IDLE = 30 * MINUTE
ABSOLUTE = 12 * HOUR
TRUSTED = 30 * DAY
_TOUCH = MINUTE
"""Seen again so soon, a session is not written again."""


def begin(ctx: Context, person: Person) -> str:
    """A new session; what the browser is to show again."""
    secret = ctx.rng.hex(64)
    ctx.db.insert(
        store.session,
        user_id=person.id,
        digest=ctx.runtime.keyring.digest(secret),
        created=ctx.moment,
        last_seen=ctx.moment,
    )
    return secret


def find(ctx: Context, secret: str) -> SignedIn | None:
    return ctx.db.maybe(
        store.SESSION,
        digest=ctx.runtime.keyring.digest(secret),
        idle=clock.text(ctx.now - IDLE),
        absolute=clock.text(ctx.now - ABSOLUTE),
    )


def needs_touch(ctx: Context, session: SignedIn) -> bool:
    return session.last_seen < clock.text(ctx.now - _TOUCH)


def touch(ctx: Context, session: SignedIn) -> None:
    ctx.db.update(store.session, {"id": session.id}, last_seen=ctx.moment)


def prolong(ctx: Context, session_id: int) -> bool:
    """The console is in use: its session is seen again, if it has not ended."""
    alive = ctx.db.value(
        store.LIVE_SESSION,
        id=session_id,
        idle=clock.text(ctx.now - IDLE),
        absolute=clock.text(ctx.now - ABSOLUTE),
    )
    return alive is not None and bool(ctx.db.update(store.session, {"id": session_id}, last_seen=ctx.moment))


def end_one(ctx: Context, session_id: int) -> None:
    """End a session and the console's tokens of it."""
    ctx.db.delete(store.session, id=session_id)


def end(ctx: Context, secret: str) -> None:
    ctx.db.delete(store.session, digest=ctx.runtime.keyring.digest(secret))


def end_all(ctx: Context, user_id: int) -> None:
    """Every browser of the user is signed out, and none is trusted any more."""
    ctx.db.delete(store.session, user_id=user_id)
    ctx.db.delete(device, user_id=user_id)


def trust(ctx: Context, person: Person, user_agent: str) -> str:
    """Trust a browser and return the secret of its cookie."""
    secret = ctx.rng.hex(64)
    ctx.db.insert(
        device,
        user_id=person.id,
        digest=ctx.runtime.keyring.digest(secret),
        user_agent=user_agent,
        created=ctx.moment,
        expiry=clock.text(ctx.now + TRUSTED),
        last_authenticated=ctx.moment,
        last_remote_addr=ctx.address,
    )
    return secret


def trusted(ctx: Context, person: Person, secret: str | None) -> int | None:
    """The id of the trusted browser that shows this secret."""
    if not secret:
        return None
    device_id: int | None = ctx.db.value(
        store.DEVICE, digest=ctx.runtime.keyring.digest(secret), user_id=person.id, moment=ctx.moment
    )
    return device_id


def seen(ctx: Context, device_id: int) -> None:
    ctx.db.update(device, {"id": device_id}, last_authenticated=ctx.moment, last_remote_addr=ctx.address)


def actor_of(person: Person) -> Actor:
    """A person at the login service: all of their own powers, and no token."""
    return Actor(person.account_id, person.id, person.username, person.restricted, 0, ALL_SCOPES)
