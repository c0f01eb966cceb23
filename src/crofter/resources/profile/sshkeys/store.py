"""SSH keys of users."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.edge.listing import Collection
from crofter.resources.profile.sshkeys.shapes import SshKeyView
from crofter.resources.users.store import ssh_key, user

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


def of_users(ctx: Context, usernames: Sequence[str]) -> list[str]:
    """The keys of these users of the account, for a deployment that names them."""
    if not usernames:
        return []
    return ctx.db.column(_OF_USERS, account_id=ctx.account_id, usernames=list(usernames))
