"""Logins of the last 90 days, and the browsers that a user trusts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Flag, Row, Session, identity, owned, query, table
from crofter.db import Id as IdColumn
from crofter.db import Moment as MomentColumn
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, LargeBinary, Text, bindparam, delete, select
from crofter.shapes import Filtered, Id, Moment, View

# ---- shapes ---------------------------------------------------------------------------------------------------------


class LoginView(View):
    """A login at the login service."""

    datetime: Filtered[Annotated[Moment, Meta(description="When it was tried.")]]
    id: Id
    ip: Annotated[str, Meta(description="The address that it came from.", examples=["192.0.2.1"])]
    restricted: Annotated[bool, Meta(description="Whether the user was restricted.")]
    status: Literal["successful", "failed"]
    username: Filtered[str]


# ---- rows -----------------------------------------------------------------------------------------------------------

WINDOW = 90 * clock.DAY
"""How long a login can be read."""

login = table(
    "login",
    identity(),
    owned(),
    Column("user_id", IdColumn),
    Column("username", Text, nullable=False),
    Column("ip", Text, nullable=False),
    Column("restricted", Flag, nullable=False),
    Column("status", Text, nullable=False),  # successful or failed
    Column("at", MomentColumn, nullable=False),
    Index("ix_login_account_id", "account_id", "id"),
    Index("ix_login_user_id", "user_id", "id"),
    Index("ix_login_at", "at"),
)

device = table(
    "trusted_device",
    identity(),
    Column("user_id", IdColumn, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("user_agent", Text, nullable=False),
    Column("created", MomentColumn, nullable=False),
    Column("expiry", MomentColumn, nullable=False),
    Column("last_authenticated", MomentColumn, nullable=False),
    Column("last_remote_addr", Text, nullable=False),
)


class Login(Row):
    at: str
    id: int
    ip: str
    restricted: bool
    status: str
    username: str


_SHOWN = select(*(login.c[name] for name in Login.__struct_fields__)).where(
    login.c.account_id == bindparam("account_id"), login.c.at >= bindparam("since")
)
_OWN = _SHOWN.where(login.c.user_id == bindparam("user_id"))
_COLUMNS = {"datetime": login.c.at, "username": login.c.username}
OF_ACCOUNT = Collection(LoginView, _SHOWN, Login, key=login.c.id, columns=_COLUMNS, newest_first=True)
OF_USER = Collection(LoginView, _OWN, Login, key=login.c.id, columns=_COLUMNS, newest_first=True)
_ONE = query(_SHOWN.where(login.c.id == bindparam("login_id")), Login)
_OWN_ONE = query(_OWN.where(login.c.id == bindparam("login_id")), Login)
_OLD = query(delete(login).where(login.c.at < bindparam("since")))


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look at an account's logins is bounded by."""
    return {"account_id": ctx.account_id, "since": clock.text(ctx.now - WINDOW)}


def own_scope(ctx: Context) -> dict[str, Any]:
    return {**scope(ctx), "user_id": ctx.actor.user_id}


def one(ctx: Context, login_id: int) -> Login:
    return ctx.db.one(_ONE, login_id=login_id, **scope(ctx))


def own(ctx: Context, login_id: int) -> Login:
    return ctx.db.one(_OWN_ONE, login_id=login_id, **own_scope(ctx))


def prune(db: Session, now: int) -> int:
    """Remove logins that can no longer be read."""
    return db.run(_OLD, since=clock.text(now - WINDOW))


# ---- rules ----------------------------------------------------------------------------------------------------------


def views(rows: list[Login]) -> list[LoginView]:
    return [view(row) for row in rows]


def view(row: Login) -> LoginView:
    status: Any = row.status
    return LoginView(row.at, row.id, row.ip, row.restricted, status, row.username)


def note(
    runtime: Runtime,
    db: Session,
    *,
    account_id: int,
    user_id: int,
    username: str,
    restricted: bool,
    ip: str,
    successful: bool,
) -> int:
    """Put a login on record, whether it succeeded or not; its id."""
    return db.insert(
        login,
        account_id=account_id,
        user_id=user_id,
        username=username,
        restricted=restricted,
        ip=ip,
        status="successful" if successful else "failed",
        at=clock.text(runtime.clock.now()),
    )
