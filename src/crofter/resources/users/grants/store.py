"""Storage of grants."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.db import Id, Row, query
from crofter.db.sql import ColumnElement, and_, bindparam, case, cast, exists, func, literal_column, select
from crofter.resources.users.grants.shapes import KINDS
from crofter.resources.users.store import grant, user


class Granted(Row):
    kind: str
    object_id: int
    level: str


_OF_USER = query(
    select(grant.c.kind, grant.c.object_id, grant.c.level).where(grant.c.user_id == bindparam("user_id")), Granted
)
_GLOBAL = query(select(user.c.global_grants).where(user.c.id == bindparam("user_id")))
_PRIVATE = '"private/'
_NUMBERED: list[ColumnElement[Any]] = [literal_column(f"'{kind}'") for kind in KINDS if kind != "image"]


def sees(kind: ColumnElement[Any], document: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that the user bound as ``user_id`` holds a grant on an object whose id is stored as a JSON
    scalar.

    The stored id is converted to the number in grants, not the reverse: so each row needs a single lookup by key.
    """
    start = len(_PRIVATE)
    of_image = and_(
        kind == literal_column("'image'"), func.substr(document, 1, start) == literal_column(f"'{_PRIVATE}'")
    )
    # Ids of other kinds may be text, which PostgreSQL would fail to convert: hence the case.
    number = case(
        (kind.in_(_NUMBERED), cast(document, Id)),  # 7
        (of_image, cast(func.rtrim(func.substr(document, start + 1), literal_column("'\"'")), Id)),  # "private/7"
    )
    return exists(
        select(grant.c.object_id).where(
            grant.c.user_id == bindparam("user_id"), grant.c.kind == kind, grant.c.object_id == number
        )
    )


def held(ctx: Context, user_id: int) -> dict[str, dict[int, str]]:
    """The levels that a user holds: by kind, then by object."""
    levels: dict[str, dict[int, str]] = {}
    for row in ctx.db.all(_OF_USER, user_id=user_id):
        levels.setdefault(row.kind, {})[row.object_id] = row.level
    return levels


def on_account(ctx: Context, user_id: int) -> dict[str, Any]:
    return ctx.db.value(_GLOBAL, user_id=user_id) or {}


def set_on_account(ctx: Context, user_id: int, grants: dict[str, Any]) -> None:
    ctx.db.update(user, {"account_id": ctx.account_id, "id": user_id}, global_grants=grants)


def put(ctx: Context, user_id: int, kind: str, object_id: int, level: str | None) -> None:
    ctx.db.delete(grant, user_id=user_id, kind=kind, object_id=object_id)
    if level is not None:
        ctx.db.insert(grant, user_id=user_id, kind=kind, object_id=object_id, level=level)
