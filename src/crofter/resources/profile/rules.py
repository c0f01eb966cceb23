"""How a user is shown to itself, and what it may change."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from crofter.context import Context
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.profile import store
from crofter.resources.profile.shapes import ProfileUpdate, ProfileView, Referrals
from crofter.resources.profile.store import Profile
from crofter.resources.users import invitations
from crofter.shapes import given


def view(ctx: Context) -> ProfileView:
    return _shown(ctx, store.own(ctx))


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
    """Nobody is paid for bringing others; the code is there because clients show it."""
    code = ctx.runtime.keyring.digest(f"referral:{user_id}").hex()[:40]
    return Referrals(code, completed=0, credit=0, pending=0, total=0, url=f"{ctx.base_url}/?r={code}")


def update(ctx: Context, body: ProfileUpdate) -> ProfileView:
    changes = given(body)
    if changes.get("authorized_keys"):
        changes["authorized_keys"] = [key.strip() for key in changes["authorized_keys"]]
    before = store.own(ctx)
    store.update(ctx, changes)
    after = replace(before, **changes)
    record(ctx, "profile_update", Entity("profile", None, ctx.actor.username, "/v4/profile"))
    invitations.follow(ctx, after, before.email)
    return _shown(ctx, after)
