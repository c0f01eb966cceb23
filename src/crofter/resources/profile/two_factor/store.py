"""The second factor of a user: set up, confirmed, and its codes checked."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from msgspec import Meta

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Row, Session, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.profile.devices import store as devices
from crofter.resources.users.store import user
from crofter.shapes import Body, Moment, Revealed, Secret, View

# ---- shapes ---------------------------------------------------------------------------------------------------------


class TwoFactorSecretView(View):
    """Secret for an authenticator app."""

    expiry: Annotated[Moment, Meta(description="Until when the secret can be confirmed.")]
    secret: Revealed[Annotated[str, Meta(description="In base32.", examples=["5FXX6KLACOC33GTC"])]]


class TwoFactorConfirm(Body):
    tfa_code: Secret[
        Annotated[str, Meta(max_length=64, description="The code that the app shows.", examples=["213456"])]
    ]


class TwoFactorScratchView(View):
    """Scratch code for a sign-in without the app."""

    scratch: Revealed[Annotated[str, Meta(description="Good for one login; shown this once.")]]


# ---- rows -----------------------------------------------------------------------------------------------------------


class Factor(Row):
    id: int
    tfa_enabled: bool
    tfa_secret: bytes | None
    tfa_pending: bytes | None
    tfa_expiry: str | None
    tfa_last_step: int | None
    tfa_scratch: bytes | None


_FACTOR = query(
    select(*(user.c[name] for name in Factor.__struct_fields__)).where(user.c.id == bindparam("user_id")), Factor
)


def _factor(db: Session, user_id: int) -> Factor:
    return db.one(_FACTOR, user_id=user_id)


def _update(db: Session, user_id: int, **values: Any) -> None:
    db.update(user, {"id": user_id}, **values)


# ---- rules ----------------------------------------------------------------------------------------------------------

LIFE = clock.DAY
"""How long a new secret waits to be confirmed."""
STEP = 30
SECRET_LENGTH = 32
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_SCRATCH = "abcdefghijkmnpqrstuvwxyz23456789"
REFUSED = "Invalid token. Two-factor auth not enabled. Please try again."


def begin(ctx: Context) -> TwoFactorSecretView:
    """Create a secret. The present factor stays valid until the new secret is confirmed."""
    secret = ctx.rng.letters(SECRET_LENGTH, _BASE32)
    expiry = clock.text(ctx.now + LIFE)
    user_id = ctx.actor.user_id
    sealed = ctx.runtime.keyring.seal(secret.encode(), _associated_data(user_id, "tfa_pending"))
    _update(ctx.db, user_id, tfa_pending=sealed, tfa_expiry=expiry)
    return TwoFactorSecretView(expiry, secret)


def confirm(ctx: Context, code: str) -> TwoFactorScratchView:
    """The code proves that the app knows the secret, so from now on logins ask for one."""
    user_id = ctx.actor.user_id
    factor = _factor(ctx.db, user_id)
    if factor.tfa_pending is None or (factor.tfa_expiry or "") <= ctx.moment:
        raise Invalid("There is no secret to confirm, or it has expired", field="tfa_code")
    keyring = ctx.runtime.keyring
    secret = keyring.open(bytes(factor.tfa_pending), _associated_data(user_id, "tfa_pending"))
    used = _step_of(secret.decode(), _bare(code), ctx.now, after=0)
    if used is None:
        raise Invalid(REFUSED, field="tfa_code")
    scratch = ctx.rng.letters(16, _SCRATCH)
    _update(
        ctx.db,
        user_id,
        tfa_enabled=True,
        tfa_secret=keyring.seal(secret, _associated_data(user_id, "tfa_secret")),
        tfa_pending=None,
        tfa_expiry=None,
        tfa_last_step=used,
        tfa_scratch=keyring.digest(scratch),
    )
    devices.delete_all(ctx)  # a browser that skipped the old factor shows the new one once
    record(ctx, "tfa_enabled", _entity(ctx))
    return TwoFactorScratchView(scratch)


def disable(ctx: Context) -> None:
    user_id = ctx.actor.user_id
    enabled = _factor(ctx.db, user_id).tfa_enabled
    nothing = dict.fromkeys(("tfa_secret", "tfa_pending", "tfa_expiry", "tfa_last_step", "tfa_scratch"))
    _update(ctx.db, user_id, tfa_enabled=False, **nothing)
    devices.delete_all(ctx)
    if enabled:
        record(ctx, "tfa_disabled", _entity(ctx))


def accepts(runtime: Runtime, db: Session, user_id: int, code: str) -> bool:
    """True if the code of the app, or the scratch code, is accepted. Uses the code up."""
    factor = _factor(db, user_id)
    used = _step_shown(runtime, factor, code)
    if used is not None:
        _update(db, user_id, tfa_last_step=used)
        return True
    keyring, given = runtime.keyring, _bare(code)
    if not factor.tfa_enabled:
        return False
    if factor.tfa_scratch is not None and hmac.compare_digest(keyring.digest(given.lower()), bytes(factor.tfa_scratch)):
        _update(db, user_id, tfa_scratch=None)
        return True
    return False


def fits(runtime: Runtime, db: Session, user_id: int, code: str) -> bool:
    """True if the user's app shows this code now. Does not use the code up."""
    return _step_shown(runtime, _factor(db, user_id), code) is not None


def _step_shown(runtime: Runtime, factor: Factor, code: str) -> int | None:
    """The time step for which the app shows this code, if it is not used up."""
    if not factor.tfa_enabled or factor.tfa_secret is None:
        return None
    secret = runtime.keyring.open(bytes(factor.tfa_secret), _associated_data(factor.id, "tfa_secret")).decode()
    return _step_of(secret, _bare(code), runtime.clock.now(), after=factor.tfa_last_step or 0)


def _bare(code: str) -> str:
    """Without the spaces and dashes that make a code readable."""
    return code.replace(" ", "").replace("-", "")


def _step_of(secret: str, code: str, now: int, *, after: int) -> int | None:
    """The time step whose code this is: the present one or a neighbour, for clocks that differ; none used before."""
    import pyotp  # noqa: PLC0415 - only who has a second factor pays for it

    present = now // (STEP * clock.SECOND)
    codes = pyotp.TOTP(secret, interval=STEP)
    fitting = [
        step
        for step in (present - 1, present, present + 1)
        if hmac.compare_digest(codes.generate_otp(step).encode(), code.encode()) and step > after
    ]
    return fitting[0] if fitting else None


def _associated_data(user_id: int, column: str) -> str:
    return f"account_user:{user_id}:{column}"


def _entity(ctx: Context) -> Entity:
    return Entity("profile", None, ctx.actor.username, "/v4/profile")
