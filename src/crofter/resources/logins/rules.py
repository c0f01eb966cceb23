"""How logins are put on record and shown."""

from __future__ import annotations

from typing import Any

from crofter import clock
from crofter.context import Runtime
from crofter.db import Session
from crofter.resources.logins import store
from crofter.resources.logins.shapes import LoginView
from crofter.resources.logins.store import Login


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
        store.login,
        account_id=account_id,
        user_id=user_id,
        username=username,
        restricted=restricted,
        ip=ip,
        status="successful" if successful else "failed",
        at=clock.text(runtime.clock.now()),
    )
