"""Users, their grants, tokens and SSH keys."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, Sealed, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    and_,
    bindparam,
    exists,
    false,
    func,
    select,
    text,
    true,
)
from crofter.resources.account.store import account
from crofter.resources.users.shapes import UserView

R = TypeVar("R")

user = table(
    "account_user",
    identity(),
    owned(index=True),
    Column("username", Text, nullable=False, unique=True),
    Column("email", Text, nullable=False),
    Column("restricted", Flag, nullable=False),
    Column("password", Text),
    Column("global_grants", Json),
    Column("timezone", Text, nullable=False, server_default="UTC"),
    Column("email_notifications", Flag, nullable=False, server_default=true()),
    Column("lish_auth_method", Text, nullable=False, server_default="password_keys"),
    Column("authorized_keys", Json),
    # Two-factor: secrets are sealed. A new one waits, until its expiry, to be confirmed; the old one holds meanwhile.
    Column("tfa_secret", Sealed),
    Column("tfa_enabled", Flag, nullable=False, server_default=false()),
    Column("tfa_pending", Sealed),
    Column("tfa_expiry", Moment),
    Column("tfa_last_step", Id),
    Column("tfa_scratch", LargeBinary),
    Column("created", Moment, nullable=False),
    # Names that differ in case alone would be mistaken for one another.
    Index("uq_account_user_name", text("lower(username)"), unique=True),
    # Users who forgot their name are found by address.
    Index("ix_account_user_email", text("lower(email)")),
)

grant = table(
    "user_grant",
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("level", Text, nullable=False),
    PrimaryKeyConstraint("user_id", "kind", "object_id"),
    Index("ix_grant_object", "kind", "object_id"),
    sqlite_without_rowid=True,
)

token = table(
    "token",
    identity(),
    owned(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("shown", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expiry", Moment),
    # OAuth tokens: client and authorization. Null for a personal token.
    Column("authorization_id", Id, ForeignKey("app_authorization.id", ondelete="CASCADE"), index=True),
)

# Added by each user in its profile; a list of users shows their labels.
ssh_key = table(
    "ssh_key",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False),
    Column("label", Text, nullable=False),
    Column("ssh_key", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Index("ix_ssh_key_user_id", "user_id", "id"),
)

# Mailed links to set a password: invitations and resets.
link = table(
    "password_link",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("expiry", Moment, nullable=False),
)
HAS_PASSWORD = query(select(user.c.id).where(user.c.id == bindparam("user_id"), user.c.password.is_not(None)))
LINK = query(select(link.c.user_id).where(link.c.digest == bindparam("digest"), link.c.expiry > bindparam("moment")))


class Bearer(Row):
    """Data of a presented token in a single row."""

    token_id: int
    user_id: int
    account_id: int
    username: str
    restricted: bool
    scopes: str


_BEARER = (
    select(
        token.c.id.label("token_id"),
        token.c.user_id,
        token.c.account_id,
        user.c.username,
        user.c.restricted,
        token.c.scopes,
    )
    .join_from(token, user, user.c.id == token.c.user_id)
    .join(account, account.c.id == token.c.account_id)
    .where(
        (token.c.expiry.is_(None)) | (token.c.expiry > bindparam("moment")),
        account.c.closed.is_(False),
        account.c.suspended.is_(False),
    )
)
BEARER = query(_BEARER.where(token.c.digest == bindparam("digest")), Bearer)
STILL = query(
    _BEARER.where((token.c.id == bindparam("token_id")) | (token.c.authorization_id == bindparam("consent_id")))
    .order_by(token.c.id.desc())
    .limit(1),
    Bearer,
)
CONSENT = query(select(token.c.authorization_id).where(token.c.id == bindparam("token_id")))


class User(Row):
    id: int
    account_id: int
    username: str
    email: str
    restricted: bool
    tfa_enabled: bool = False


_USER = select(*(user.c[name] for name in User.__struct_fields__))
BY_USERNAME = query(_USER.where(user.c.username == bindparam("username")), User)
_OF_ACCOUNT = _USER.where(user.c.account_id == bindparam("account_id"))
USERS = Collection(UserView, _OF_ACCOUNT, User, key=user.c.id, columns={"username": user.c.username})
_ONE = query(_OF_ACCOUNT.where(user.c.username == bindparam("username")), User)
_OTHER_UNRESTRICTED = query(
    select(func.count()).where(
        user.c.account_id == bindparam("account_id"), user.c.restricted.is_(False), user.c.id != bindparam("user_id")
    )
)
_GLOBAL = query(select(user.c.global_grants).where(user.c.id == bindparam("user_id")))
_LEVEL = query(
    select(grant.c.level).where(
        grant.c.user_id == bindparam("user_id"),
        grant.c.kind == bindparam("kind"),
        grant.c.object_id == bindparam("object_id"),
    )
)


def granted(kind: str, object_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """How a select joins the grants of the caller, ``user_id``, to objects of a kind."""
    return and_(grant.c.kind == kind, grant.c.object_id == object_id, grant.c.user_id == bindparam("user_id"))


def by_restricted(collection: Collection[R], kind: str) -> dict[bool, Collection[R]]:
    """Return the collection for unrestricted callers, and one joined with grants for restricted callers."""
    return {False: collection, True: collection.joined(grant, granted(kind, collection.key))}


def is_granted(kind: str, object_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that the caller holds a grant on the object; for queries on few objects."""
    return exists(select(grant.c.object_id).where(granted(kind, object_id)))


def by_username(ctx: Context, username: str) -> User:
    return ctx.db.one(_ONE, account_id=ctx.account_id, username=username)


def others_unrestricted(ctx: Context, user_id: int) -> int:
    """How many of the account's users could still do everything without this one."""
    return int(ctx.db.value(_OTHER_UNRESTRICTED, account_id=ctx.account_id, user_id=user_id))


def global_grants(ctx: Context) -> dict[str, bool | str | None]:
    """Return the caller's permissions on the account as a whole."""
    return ctx.db.value(_GLOBAL, user_id=ctx.actor.user_id) or {}


def level(ctx: Context, kind: str, object_id: int) -> str | None:
    """Return the caller's level on an object: None, read_only or read_write."""
    held: str | None = ctx.db.value(_LEVEL, user_id=ctx.actor.user_id, kind=kind, object_id=object_id)
    return held


_USERNAMES = query(
    select(user.c.username).where(user.c.account_id == bindparam("account_id"), among(user.c.username, "usernames"))
)


def usernames(ctx: Context, wanted: Sequence[str]) -> set[str]:
    """Return the names among ``wanted`` that are users of the caller's account."""
    return set(ctx.db.column(_USERNAMES, account_id=ctx.account_id, usernames=list(wanted))) if wanted else set()


class _KeyLabel(Row):
    user_id: int
    label: str


_SSH_KEY_LABELS = query(
    select(ssh_key.c.user_id, ssh_key.c.label).where(among(ssh_key.c.user_id, "ids")).order_by(ssh_key.c.id), _KeyLabel
)


def ssh_key_labels(ctx: Context, user_ids: Sequence[int]) -> dict[int, list[str]]:
    """The labels of the SSH keys of many users at once."""
    labels: dict[int, list[str]] = {}
    for row in ctx.db.all(_SSH_KEY_LABELS, ids=list(user_ids)) if user_ids else []:
        labels.setdefault(row.user_id, []).append(row.label)
    return labels


_EMAIL = query(select(user.c.email).where(user.c.id == bindparam("user_id")))


def email(ctx: Context) -> str:
    """The caller's address."""
    return ctx.db.value(_EMAIL, user_id=ctx.actor.user_id) or ""


def gravatar(address: str) -> str:
    """Return the Gravatar hash of an email address."""
    return hashlib.md5(address.strip().lower().encode(), usedforsecurity=False).hexdigest()
