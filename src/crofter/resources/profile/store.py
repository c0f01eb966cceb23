"""The profile, in the user's own row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, query
from crofter.resources.users.store import user


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


def update(ctx: Context, changes: dict[str, Any]) -> None:
    if changes:
        ctx.db.update(user, {"account_id": ctx.account_id, "id": ctx.actor.user_id}, **changes)
