"""How much SQLite does for something: counted in steps of its machine, which no busy day changes."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import apsw
import pytest

from crofter.db import Session
from crofter.engine import step_context
from tests.cloud import Cloud


def still(cloud: Cloud) -> None:
    """Freeze the clock: only requested work runs, and no schedule falls due."""
    cloud.freeze()
    with cloud.runtime.database.write() as db:
        db.raw("DELETE FROM schedule")


def watch(patch: pytest.MonkeyPatch, cloud: Cloud) -> Counter[int]:
    """Count the steps of each thread for requests to this cloud from now on.

    Background polls and heartbeats of its worker are not counted, because their number depends on the machine, nor is
    work of other clouds in this process. Progress is written at each call, independent of the speed of a job.
    """
    taken: Counter[int] = Counter()
    database: Any = cloud.runtime.database
    opened = database._session
    background = cloud.application.worker._threads

    def ended(statement: dict[str, Any]) -> None:
        if threading.current_thread() not in background:
            taken[threading.get_ident()] += statement["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def session(connection: apsw.Connection, *more: Any) -> Session:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, ended)
        made: Session = opened(connection, *more)
        return made

    patch.setattr(database, "_session", session)
    patch.setattr(step_context, "PROGRESS_EVERY", 0.0)
    with database.write():
        pass  # the writer is traced from its next statement on
    taken.clear()
    return taken
