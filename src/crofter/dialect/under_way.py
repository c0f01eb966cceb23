"""Objects with an operation in progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from crofter.db import Database, Row, query
from crofter.db.sql import Select, bindparam, select, union_all
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.errors import Problem
from crofter.events import event


class _Open(Row):
    action: str
    entity_url: str | None
    secondary_url: str | None


def _open_in(*states: str) -> Select[Any]:
    return (
        select(*(event.c[name] for name in _Open.__struct_fields__))
        .join_from(operation, event, event.c.id == operation.c.event_id)
        .where(
            state_in(operation, *states),
            operation.c.account_id == bindparam("account_id"),
            event.c.account_id == bindparam("account_id"),
            event.c.status.in_(("scheduled", "started")),
        )
    )


# Start from the operations in progress: an account may have a million finished events. In two parts, each with an
# index.
_OPEN = query(union_all(_open_in("queued"), _open_in("running", "waiting")), _Open)


def addresses(database: Database, account_id: int, actions: Sequence[str]) -> Mapping[str, Set[str]]:
    """The addresses of an account's objects that events of these actions are scheduled or started for, by action."""
    try:
        with database.read() as db:
            rows = [row for row in db.all(_OPEN, account_id=account_id) if row.action in actions]
    except Problem:
        return {}  # the database is away for a moment: the answer is shown as it is
    reached: dict[str, set[str]] = {}
    for row in rows:
        reached.setdefault(row.action, set()).update(url for url in (row.entity_url, row.secondary_url) if url)
    return reached
