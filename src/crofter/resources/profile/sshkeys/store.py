"""SSH keys of users: how they are shown, kept and changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from crofter import ssh
from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, select
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.users.store import ssh_key, user
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View

# ---- shapes ---------------------------------------------------------------------------------------------------------

KeyLabel = Annotated[str, Meta(min_length=1, max_length=64, description="What the key is called.")]
PublicKey = Annotated[
    str,
    Meta(
        max_length=16_384,
        description="An OpenSSH public key.",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtHg0whT5IDj7xp1EnRzkVGz user@example"],
        extra={"check": ssh.complaint},
    ),
]


class SshKeyView(View):
    """An SSH key of the user."""

    created: Filtered[Moment]
    id: Id
    label: Filtered[str]
    ssh_key: str


class SshKeyCreate(Body, forbid_unknown_fields=True):
    label: KeyLabel
    ssh_key: PublicKey


class SshKeyUpdate(Body):
    label: Optional[KeyLabel] = UNSET


# ---- rows -----------------------------------------------------------------------------------------------------------

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
_COLUMNS = {name: ssh_key.c[name] for name in ("created", "label")}
KEYS = Collection(SshKeyView, _OWN, SshKey, key=ssh_key.c.id, columns=_COLUMNS)
_ONE = query(_OWN.where(ssh_key.c.id == bindparam("key_id")), SshKey)


def one(ctx: Context, key_id: int) -> SshKey:
    return ctx.db.one(_ONE, user_id=ctx.actor.user_id, key_id=key_id)


def of_users(ctx: Context, usernames: Sequence[str]) -> list[str]:
    """The keys of these users of the account, for a deployment that names them."""
    if not usernames:
        return []
    return ctx.db.column(_OF_USERS, account_id=ctx.account_id, usernames=list(usernames))


# ---- rules ----------------------------------------------------------------------------------------------------------


def views(rows: list[SshKey]) -> list[SshKeyView]:
    return [view(row) for row in rows]


def view(row: SshKey) -> SshKeyView:
    return SshKeyView(row.created, row.id, row.label, row.ssh_key)


def create(ctx: Context, body: SshKeyCreate) -> SshKeyView:
    text = body.ssh_key.strip()
    key_id = ctx.db.insert(ssh_key, user_id=ctx.actor.user_id, label=body.label, ssh_key=text, created=ctx.moment)
    key = SshKey(ctx.moment, key_id, body.label, text)
    record(ctx, "user_ssh_key_add", _entity(key))
    return view(key)


def update(ctx: Context, key: SshKey, body: SshKeyUpdate) -> SshKeyView:
    if body.label is not UNSET:
        key.label = body.label
        ctx.db.update(ssh_key, {"user_id": ctx.actor.user_id, "id": key.id}, label=key.label)
    record(ctx, "user_ssh_key_update", _entity(key))
    return view(key)


def delete(ctx: Context, key: SshKey) -> None:
    ctx.db.delete(ssh_key, user_id=ctx.actor.user_id, id=key.id)
    record(ctx, "user_ssh_key_delete", _entity(key))


def _entity(key: SshKey) -> Entity:
    return Entity("user_ssh_key", key.id, key.label, f"/v4/profile/sshkeys/{key.id}")
