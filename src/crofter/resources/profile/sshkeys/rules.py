"""Which keys may be added, and how they are shown."""

from __future__ import annotations

from crofter.context import Context
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.profile.sshkeys import store
from crofter.resources.profile.sshkeys.shapes import SshKeyCreate, SshKeyUpdate, SshKeyView
from crofter.resources.profile.sshkeys.store import SshKey
from crofter.shapes import UNSET


def views(rows: list[SshKey]) -> list[SshKeyView]:
    return [view(row) for row in rows]


def view(row: SshKey) -> SshKeyView:
    return SshKeyView(row.created, row.id, row.label, row.ssh_key)


def create(ctx: Context, body: SshKeyCreate) -> SshKeyView:
    key = store.insert(ctx, body.label, body.ssh_key.strip())
    record(ctx, "user_ssh_key_add", _entity(key))
    return view(key)


def update(ctx: Context, key: SshKey, body: SshKeyUpdate) -> SshKeyView:
    if body.label is not UNSET:
        key.label = body.label
        store.rename(ctx, key.id, key.label)
    record(ctx, "user_ssh_key_update", _entity(key))
    return view(key)


def delete(ctx: Context, key: SshKey) -> None:
    store.delete(ctx, key.id)
    record(ctx, "user_ssh_key_delete", _entity(key))


def _entity(key: SshKey) -> Entity:
    return Entity("user_ssh_key", key.id, key.label, f"/v4/profile/sshkeys/{key.id}")
