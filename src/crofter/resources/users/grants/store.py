"""What is granted to whom."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, query
from crofter.resources.users.store import grant, user


class Granted(Row):
    kind: str
    object_id: int
    level: str


_OF_USER = query(
    select(grant.c.kind, grant.c.object_id, grant.c.level).where(grant.c.user_id == bindparam("user_id")), Granted
)
_GLOBAL = query(select(user.c.global_grants).where(user.c.id == bindparam("user_id")))


def held(ctx: Context, user_id: int) -> dict[str, dict[int, str]]:
    """The levels that a user holds: by kind, then by object."""
    found: dict[str, dict[int, str]] = {}
    for row in ctx.db.all(_OF_USER, user_id=user_id):
        found.setdefault(row.kind, {})[row.object_id] = row.level
    return found


def on_account(ctx: Context, user_id: int) -> dict[str, Any]:
    return ctx.db.value(_GLOBAL, user_id=user_id) or {}


def set_on_account(ctx: Context, user_id: int, grants: dict[str, Any]) -> None:
    ctx.db.update(user, {"account_id": ctx.account_id, "id": user_id}, global_grants=grants)


def put(ctx: Context, user_id: int, kind: str, object_id: int, level: str | None) -> None:
    ctx.db.delete(grant, user_id=user_id, kind=kind, object_id=object_id)
    if level is not None:
        ctx.db.insert(grant, user_id=user_id, kind=kind, object_id=object_id, level=level)
