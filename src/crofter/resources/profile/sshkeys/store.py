"""SSH keys of users."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, ForeignKey, Index, Text, bindparam, select

from crofter.context import Context
from crofter.db import Id, Moment, among, identity, query, table
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


def of_users(ctx: Context, usernames: Sequence[str]) -> list[str]:
    """The keys of these users of the account, for a deployment that names them."""
    if not usernames:
        return []
    return ctx.db.column(_OF_USERS, account_id=ctx.account_id, usernames=list(usernames))
