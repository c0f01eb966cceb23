"""The profile as it is sent and shown."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Literal
from zoneinfo import available_timezones

from msgspec import Meta

from crofter.resources.profile.sshkeys.shapes import SshKey
from crofter.resources.users.shapes import Email
from crofter.shapes import UNSET, Body, Id, Optional, View

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
AuthorizedKeys = Annotated[list[SshKey], Meta(max_length=100, description="Keys that open the consoles of instances.")]


class Referrals(View):
    """What the user has earned by bringing others."""

    code: str
    completed: int
    credit: int
    pending: int
    total: int
    url: str


class ProfileView(View):
    """The user who asks."""

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
