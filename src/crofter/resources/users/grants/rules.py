"""Rules and display of grants."""

from __future__ import annotations

from typing import Any

import msgspec

from crofter.context import Context
from crofter.errors import Invalid
from crofter.events import record
from crofter.kinds import inaccessible
from crofter.resources.users import rules as users
from crofter.resources.users.grants import store
from crofter.resources.users.grants.shapes import (
    KINDS,
    GlobalChanges,
    GlobalGrants,
    Grant,
    GrantChange,
    GrantsUpdate,
    GrantsView,
)
from crofter.resources.users.store import User
from crofter.shapes import UNSET, given


def view(ctx: Context, user_id: int, *, all_objects: bool) -> GrantsView:
    """The grants of a restricted user, with every object of the account or with the granted ones alone."""
    held = store.held(ctx, user_id)
    lists = {kind: _on_objects(ctx, kind, held.get(kind, {}), all_objects) for kind in KINDS}
    return GrantsView(msgspec.convert(store.on_account(ctx, user_id), GlobalGrants), database=[], **lists)


def _on_objects(ctx: Context, kind: str, levels: dict[int, str], all_objects: bool) -> list[Grant]:
    known = ctx.runtime.kinds.get(kind)
    if known is None or not (all_objects or levels):
        return []
    shown: list[Any] = [(object_id, label, levels.get(object_id)) for object_id, label in known.labelled(ctx)]
    return [Grant(*row) for row in shown if all_objects or row[2] is not None]


def update(ctx: Context, user: User, body: GrantsUpdate) -> None:
    """Merge: what is not mentioned stays as it is."""
    if not user.restricted:
        raise Invalid("An unrestricted user has no grants: there is nothing that it may not do")
    sent: dict[str, list[GrantChange]] = {kind: getattr(body, kind) for kind in KINDS}
    for kind, changes in sent.items():
        _must_exist(ctx, kind, changes)
    if body.global_ is not UNSET:
        store.set_on_account(ctx, user.id, _merged(store.on_account(ctx, user.id), body.global_))
    held = store.held(ctx, user.id)
    for kind, changes in sent.items():
        for object_id, level in {change.id: change.permissions for change in changes}.items():
            if held.get(kind, {}).get(object_id) != level:
                store.put(ctx, user.id, kind, object_id, level)
    record(ctx, "user_update", users.entity(user))


def _must_exist(ctx: Context, kind: str, changes: list[GrantChange]) -> None:
    if not changes:
        return
    known = ctx.runtime.kinds.get(kind)
    existing = known.existing(ctx, [change.id for change in changes]) if known else set()
    for position, change in enumerate(changes):
        if change.id not in existing:
            raise inaccessible(kind, f"{kind}[{position}].id")


def _merged(held: dict[str, Any], changes: GlobalChanges) -> dict[str, Any]:
    sent = given(changes)
    # Null takes account_access away; a yes or no that is null was not sent.
    return held | {name: value for name, value in sent.items() if value is not None or name == "account_access"}
