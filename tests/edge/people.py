"""People with fewer powers than the owner of an account."""

from __future__ import annotations

from typing import Any

from httpx2 import Client

from crofter.resources.users import store
from tests.cloud import Cloud


def restricted(
    cloud: Cloud, username: str, *, of: str, globally: dict[str, Any] | None = None, **grants: dict[int, str]
) -> Client:
    """A restricted user on the account of ``of``, with ``kind={id: level}`` grants."""
    with cloud.runtime.database.write() as db:
        owner = db.one(store.BY_USERNAME, username=of)
        user_id = db.insert(
            store.user,
            account_id=owner.account_id,
            username=username,
            email=f"{username}@example.com",
            restricted=True,
            global_grants=globally or {},
            created="2026-01-01T00:00:00",
        )
        for kind, levels in grants.items():
            for object_id, level in levels.items():
                db.insert(store.grant, user_id=user_id, kind=kind, object_id=object_id, level=level)
    return cloud.client(cloud.token(username))
