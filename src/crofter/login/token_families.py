"""Token families: a consent, its code, and its tokens. A second use of a code or refresh token ends the family."""

from __future__ import annotations

import base64
import hashlib
import hmac

from msgspec import Struct

from crofter import audit, clock, scopes
from crofter.clock import DAY, HOUR, MINUTE
from crofter.context import Context
from crofter.keyring import SHOWN, new_token
from crofter.login import clients, sessions, store
from crofter.login.store import Client, Presented, SignedIn, TokenFamily
from crofter.resources.oauth.store import authorization
from crofter.resources.users.store import token

CODE_LIFE = 10 * MINUTE
ACCESS_LIFE = 2 * HOUR
FAMILY_LIFE = 30 * DAY
"""Refreshing does not make a consent last longer than this."""
CONSOLE_ACCESS_LIFE = 15 * MINUTE
"""Shorter than a session may be idle: each renewal says that the console is in use."""


class Issued(Struct, frozen=True):
    """The only sight of a pair of tokens."""

    access: str
    refresh: str
    scopes: str
    seconds: int
    """How long the access token lives."""


class Refusal(Struct, frozen=True):
    """Why there are no tokens, in the words of RFC 6749. Returned, not raised: what a refusal ends must stay ended."""

    error: str
    description: str
    status: int = 400


def allow(
    ctx: Context, client: Client, user: SignedIn, granted: list[str], redirect_uri: str | None, challenge: str | None
) -> str:
    """Begin a family with the user's consent; the code that the client may exchange once.

    ``redirect_uri`` is the one that the client has named; None if it relies on the one that is registered.
    """
    ctx.db.lock_account(user.account_id)
    expiry = clock.text(ctx.now + CODE_LIFE)
    # Every page load of the console requests a code; all belong to a single family, which ends with the session.
    session_id = user.id if clients.is_console(client) else None
    family = ctx.db.value(store.FAMILY_OF_SESSION, session_id=session_id) if session_id is not None else None
    if family is None:
        family = _begin(ctx, client, user, granted, expiry, session_id)
    plain = ctx.rng.hex(64)
    ctx.db.insert(
        store.code,
        authorization_id=family,
        digest=ctx.runtime.keyring.digest(plain),
        redirect_uri=redirect_uri or "",
        challenge=challenge,
        expiry=expiry,
        used=False,
    )
    return plain


def _begin(
    ctx: Context, client: Client, user: SignedIn, granted: list[str], expiry: str, session_id: int | None
) -> int:
    audit.write_without_token(
        ctx, user.account_id, user.username, "allow_app", "/oauth/authorize", ["scope"], user_id=user.user_id
    )
    return ctx.db.insert(
        authorization,
        account_id=user.account_id,
        user_id=user.user_id,
        client_id=client.id,
        scopes=" ".join(granted),
        created=ctx.moment,
        expiry=expiry,
        session_id=session_id,
    )


def redeem(ctx: Context, client: Client, code: str, redirect_uri: str | None, verifier: str | None) -> Issued | Refusal:
    """Exchange a code for tokens. The second time it ends the family: one of the two who showed it stole it."""
    shown = ctx.db.maybe(store.CODE, digest=ctx.runtime.keyring.digest(code))
    family = ctx.db.maybe(store.FAMILY, id=shown.authorization_id) if shown else None
    if shown is None or family is None or family.client_id != client.id:
        return Refusal("invalid_grant", "The code is not known.")
    ctx.db.lock_account(family.account_id)
    if shown.used:
        return _end_of(ctx, family, "The code has been used already.")
    refused = _unfit(ctx, client, shown, redirect_uri, verifier)
    if refused is not None:
        return refused
    if not ctx.db.update(store.code, {"id": shown.id, "used": False}, used=True):
        return _end_of(ctx, family, "The code has been used already.")
    ends = clock.text(ctx.now + (FAMILY_LIFE if family.session_id is None else sessions.ABSOLUTE))
    ctx.db.update(authorization, {"id": family.id}, expiry=ends)
    return _issue(ctx, client, family, family.scopes, ends)


def _unfit(
    ctx: Context, client: Client, shown: Presented, redirect_uri: str | None, verifier: str | None
) -> Refusal | None:
    if shown.expiry <= ctx.moment:
        return Refusal("invalid_grant", "The code has expired.")
    # RFC 6749, 4.1.3: a redirect_uri of the authorization request must be repeated. A client that omits it may hold a
    # code that was sent to another address.
    left_out = redirect_uri is None and not shown.redirect_uri
    if not left_out and redirect_uri != (shown.redirect_uri or client.redirect_uri):
        return Refusal("invalid_grant", "The redirect_uri is not the one that the code was sent to.")
    if shown.challenge is None:
        # The request came without a code_challenge, so a client with a code_verifier did not send it.
        return Refusal("invalid_grant", "The code was asked for without a code_challenge.") if verifier else None
    if verifier is None:
        return Refusal("invalid_request", "code_verifier is required")
    if not hmac.compare_digest(s256(verifier), shown.challenge):
        return Refusal("invalid_grant", "The code_verifier does not match.")
    return None


def renew(ctx: Context, client: Client, plain: str, narrower: list[str] | None) -> Issued | Refusal:
    """Exchange a refresh token for a new pair. The second time it ends the family."""
    shown = ctx.db.maybe(store.REFRESH, digest=ctx.runtime.keyring.digest(plain))
    family = ctx.db.maybe(store.FAMILY, id=shown.authorization_id) if shown else None
    if shown is None or family is None or family.client_id != client.id or shown.expiry <= ctx.moment:
        return Refusal("invalid_grant", "The refresh token is not known, or has expired.")
    ctx.db.lock_account(family.account_id)
    if shown.used:
        return _end_of(ctx, family, "The refresh token has been used already.")
    if family.session_id is not None and not sessions.prolong(ctx, family.session_id):
        sessions.end_one(ctx, family.session_id)
        return Refusal("invalid_grant", "The session has ended.")
    if narrower is not None and not scopes.within(narrower, scopes.held(family.scopes)):
        return Refusal("invalid_scope", "The user has not allowed these scopes.")
    if not ctx.db.update(store.refresh, {"id": shown.id, "used": False}, used=True):
        return _end_of(ctx, family, "The refresh token has been used already.")
    if family.session_id is None:
        ctx.db.delete(token, authorization_id=family.id)
    else:  # the other tabs of the console go on with theirs
        ctx.db.run(store.FORGET_TOKENS, family_id=family.id, moment=ctx.moment)
    granted = family.scopes if narrower is None else " ".join(narrower)
    return _issue(ctx, client, family, granted, shown.expiry)


def revoke(ctx: Context, client: Client, plain: str) -> None:
    """End the family that an access or refresh token of this client belongs to, if there is one."""
    digest = ctx.runtime.keyring.digest(plain)
    for statement in (store.BY_ACCESS, store.BY_REFRESH):
        family_id = ctx.db.value(statement, digest=digest, client_id=client.id)
        family = ctx.db.maybe(store.FAMILY, id=family_id) if family_id is not None else None
        if family is not None:
            ctx.db.lock_account(family.account_id)
            _revoke(ctx, family)


def _revoke(ctx: Context, family: TokenFamily) -> None:
    if family.session_id is None:
        ctx.db.delete(authorization, id=family.id)
        _record(ctx, family, "revoke_app", "/oauth/revoke")
    else:  # signing out of the console ends the browser's session
        sessions.end_one(ctx, family.session_id)
        _record(ctx, family, "sign_out", "/oauth/revoke")


def _end_of(ctx: Context, family: TokenFamily, reason: str) -> Refusal:
    ctx.db.delete(authorization, id=family.id)
    _record(ctx, family, "revoke_stolen", "/oauth/token")
    return Refusal("invalid_grant", reason + " All tokens that came from it have been revoked.")


def _issue(ctx: Context, client: Client, family: TokenFamily, granted: str, ends: str) -> Issued:
    life = ACCESS_LIFE if family.session_id is None else CONSOLE_ACCESS_LIFE
    access, refresh = new_token(ctx.rng, "access"), new_token(ctx.rng, "refresh")
    ctx.db.insert(
        token,
        account_id=family.account_id,
        user_id=family.user_id,
        digest=ctx.runtime.keyring.digest(access),
        shown=access[:SHOWN],
        label=client.label,
        scopes=granted,
        created=ctx.moment,
        expiry=min(clock.text(ctx.now + life), ends),
        authorization_id=family.id,
    )
    ctx.db.insert(
        store.refresh,
        authorization_id=family.id,
        digest=ctx.runtime.keyring.digest(refresh),
        expiry=ends,
        used=False,
    )
    if family.session_id is None:  # the sign-in of the console is already in the audit log
        _record(ctx, family, "issue_token", "/oauth/token")
    return Issued(access, refresh, granted, life // 1000)


def _record(ctx: Context, family: TokenFamily, operation: str, path: str) -> None:
    audit.write_without_token(ctx, family.account_id, family.username, operation, path, user_id=family.user_id)


def s256(verifier: str) -> str:
    """The challenge that belongs to a verifier (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
