"""SSH keys of users."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, ForeignKey, Index, Text, bindparam, select

from crofter.context import Context
from crofter.db import Id, Moment, Row, among, identity, query, table
from crofter.db.collections import Collection
from crofter.resources.profile.sshkeys.shapes import SshKeyView
from crofter.resources.users.store import user

ssh_key = table(
    "ssh_key",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False),
    Column("label", Text, nullable=False),
    Column("ssh_key", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Index("ix_ssh_key_user_id", "user_id", "id"),
)
_OF_USERS = query(
    select(ssh_key.c.ssh_key)
    .join(user, user.c.id == ssh_key.c.user_id)
    .where(user.c.account_id == bindparam("account_id"), among(user.c.username, "usernames"))
    .order_by(ssh_key.c.id)
)


class SshKey(Row):
    created: str
    id: int
    label: str
    ssh_key: str


_OWN = select(*(ssh_key.c[name] for name in SshKey.__struct_fields__)).where(ssh_key.c.user_id == bindparam("user_id"))
KEYS = Collection(SshKeyView, _OWN, SshKey, key=ssh_key.c.id, columns={})
_ONE = query(_OWN.where(ssh_key.c.id == bindparam("key_id")), SshKey)


def one(ctx: Context, key_id: int) -> SshKey:
    return ctx.db.one(_ONE, user_id=ctx.actor.user_id, key_id=key_id)


def insert(ctx: Context, label: str, key: str) -> SshKey:
    key_id = ctx.db.insert(ssh_key, user_id=ctx.actor.user_id, label=label, ssh_key=key, created=ctx.moment)
    return SshKey(ctx.moment, key_id, label, key)


def rename(ctx: Context, key_id: int, label: str) -> None:
    ctx.db.update(ssh_key, {"user_id": ctx.actor.user_id, "id": key_id}, label=label)


def delete(ctx: Context, key_id: int) -> None:
    ctx.db.delete(ssh_key, user_id=ctx.actor.user_id, id=key_id)


class LabelOf(Row):
    user_id: int
    label: str


_LABELS = query(
    select(ssh_key.c.user_id, ssh_key.c.label).where(among(ssh_key.c.user_id, "ids")).order_by(ssh_key.c.id), LabelOf
)


def labels(ctx: Context, user_ids: Sequence[int]) -> dict[int, list[str]]:
    """The labels of the keys of many users at once."""
    found: dict[int, list[str]] = {}
    for row in ctx.db.all(_LABELS, ids=list(user_ids)) if user_ids else []:
        found.setdefault(row.user_id, []).append(row.label)
    return found


def of_users(ctx: Context, usernames: Sequence[str]) -> list[str]:
    """The keys of these users of the account, for a deployment that names them."""
    if not usernames:
        return []
    return ctx.db.column(_OF_USERS, account_id=ctx.account_id, usernames=list(usernames))
