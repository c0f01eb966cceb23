"""How much SQLite does for something: counted in steps of its machine, which no busy day changes."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import apsw
import pytest

from crofter.db import Session
from crofter.db.sqlite import SqliteDatabase


def watch(patch: pytest.MonkeyPatch) -> Counter[int]:
    """The steps that each thread takes, from now on."""
    taken: Counter[int] = Counter()
    opened = SqliteDatabase._session

    def ended(statement: dict[str, Any]) -> None:
        taken[threading.get_ident()] += statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def session(database: SqliteDatabase, connection: apsw.Connection) -> Session:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, ended)
        return opened(database, connection)

    patch.setattr(SqliteDatabase, "_session", session)
    return taken
