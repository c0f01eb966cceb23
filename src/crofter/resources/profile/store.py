"""The profile: how a user is shown to itself, and what it may change. Kept in the row of the user."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from msgspec import Meta
from msgspec.structs import replace

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.sql import bindparam, select
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.profile.sshkeys.store import PublicKey
from crofter.resources.users import invitations
from crofter.resources.users.shapes import Email
from crofter.resources.users.store import user
from crofter.shapes import UNSET, Body, Id, Optional, View, given

# ---- shapes ---------------------------------------------------------------------------------------------------------

_LOOKS_LIKE_ONE = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)*")


@lru_cache(maxsize=1)
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())


def timezone_complaint(value: str) -> str | None:
    # A machine without a time zone database knows none, and must not refuse all of them.
    known = value in _timezones() if _timezones() else _LOOKS_LIKE_ONE.fullmatch(value)
    return None if known else "timezone is not valid"


Timezone = Annotated[
    str,
    Meta(
        max_length=64,
        description="The time zone that dates are shown in.",
        examples=["Europe/Berlin"],
        extra={"check": timezone_complaint},
    ),
]
LishMethod = Annotated[
    Literal["password_keys", "keys_only", "disabled"],
    Meta(description="How the consoles of instances may be entered over SSH."),
]
AuthorizedKeys = Annotated[
    list[PublicKey], Meta(max_length=100, description="Keys that open the consoles of instances.")
]


class Referrals(View):
    """Rewards for referrals."""

    code: str
    completed: int
    credit: int
    pending: int
    total: int
    url: str


class ProfileView(View):
    """The current user."""

    authentication_type: Literal["password"]
    authorized_keys: list[str] | None
    email: Email
    email_notifications: bool
    ip_whitelist_enabled: Annotated[bool, Meta(description="Always false.")]
    lish_auth_method: LishMethod
    referrals: Referrals
    restricted: bool
    timezone: Timezone
    two_factor_auth: bool
    uid: Id
    username: str


class ProfileUpdate(Body):
    email: Optional[Email] = UNSET
    timezone: Optional[Timezone] = UNSET
    email_notifications: Optional[bool] = UNSET
    lish_auth_method: Optional[LishMethod] = UNSET
    authorized_keys: Optional[AuthorizedKeys | None] = UNSET


# ---- rows -----------------------------------------------------------------------------------------------------------


class Profile(Row):
    id: int
    username: str
    email: str
    restricted: bool
    timezone: str
    email_notifications: bool
    lish_auth_method: str
    authorized_keys: list[str] | None
    tfa_enabled: bool


_PROFILE = query(
    select(*(user.c[name] for name in Profile.__struct_fields__)).where(user.c.id == bindparam("user_id")), Profile
)


def own(ctx: Context) -> Profile:
    return ctx.db.one(_PROFILE, user_id=ctx.actor.user_id)


# ---- rules ----------------------------------------------------------------------------------------------------------


def view(ctx: Context) -> ProfileView:
    return _shown(ctx, own(ctx))


def _shown(ctx: Context, profile: Profile) -> ProfileView:
    lish: Any = profile.lish_auth_method
    return ProfileView(
        authentication_type="password",
        authorized_keys=profile.authorized_keys,
        email=profile.email,
        email_notifications=profile.email_notifications,
        ip_whitelist_enabled=False,
        lish_auth_method=lish,
        referrals=_referrals(ctx, profile.id),
        restricted=profile.restricted,
        timezone=profile.timezone,
        two_factor_auth=profile.tfa_enabled,
        uid=profile.id,
        username=profile.username,
    )


def _referrals(ctx: Context, user_id: int) -> Referrals:
    """Return the referrals: a code for clients that display it, without rewards."""
    code = ctx.runtime.keyring.digest(f"referral:{user_id}").hex()[:40]
    return Referrals(code, completed=0, credit=0, pending=0, total=0, url=f"{ctx.base_url}/?r={code}")


def update(ctx: Context, body: ProfileUpdate) -> ProfileView:
    changes = given(body)
    if changes.get("authorized_keys"):
        changes["authorized_keys"] = [key.strip() for key in changes["authorized_keys"]]
    before = own(ctx)
    if changes:
        ctx.db.update(user, {"account_id": ctx.account_id, "id": ctx.actor.user_id}, **changes)
    after = replace(before, **changes)
    record(ctx, "profile_update", Entity("profile", None, ctx.actor.username, "/v4/profile"))
    invitations.follow(ctx, after, before.email)
    return _shown(ctx, after)
