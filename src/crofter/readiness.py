"""Readiness of this process: its database is readable and writable, and operations are executed."""

from __future__ import annotations

import logging
import threading
import time

from crofter.context import Runtime
from crofter.db import Duplicate, meta
from crofter.db.database import TransactionConflict
from crofter.engine.metrics import listed, working
from crofter.engine.worker import Worker
from crofter.errors import Problem

log = logging.getLogger("crofter")

WRITE_CHECK = "write_check"
SPENT_SECONDS = 1.5
"""The check of a silent database takes so much less time than other callers wait: 3 s, and 4 s with FRESH_SECONDS."""
FRESH_SECONDS = 1.0
"""Seconds for which a result is cached."""
WRITE_CHECK_BYTES = 16_384
"""Characters that are written for a trial and taken back: they need pages that only a disk with space left can give."""


class Readiness:
    def __init__(self, runtime: Runtime, worker: Worker) -> None:
        self._runtime = runtime
        self._worker = worker
        self._checking = threading.Lock()
        self._checked_at: float | None = None
        self._found = {"database": False, "writes": False, "worker": False, "clock": False}
        self._count = 0
        self.needed = frozenset(self._found)
        """Parts that this process needs to be ready."""
        if runtime.settings.role == "api":
            # A process without a worker serves requests, and their operations wait. Marking every server unready would
            # turn a delay into an outage.
            self.needed -= {"worker"}

    def parts(self) -> dict[str, bool]:
        """Each part of the server, and whether it can do its work."""
        self._runtime.database.answers_callers()
        with self._checking:
            if self._checked_at is None or time.monotonic() - self._checked_at > FRESH_SECONDS:
                with self._runtime.database.caller_waits_since(time.monotonic() - SPENT_SECONDS):
                    self._found = self._check()
                self._checked_at = time.monotonic()
            return dict(self._found)

    def _check(self) -> dict[str, bool]:
        readable = self._reads()
        return {
            "database": readable,
            "writes": readable and self._writes(),
            "worker": readable and self._works(),
            "clock": not self._runtime.clock.ahead(),
        }

    def _works(self) -> bool:
        """True if operations are executed: by this process if that is its role, otherwise by any."""
        own = self._worker.heartbeat.id
        try:
            with self._runtime.database.read() as db:
                return working(db) > 0 if self._runtime.settings.role == "api" else own > 0 and listed(db, own)
        except (Problem, TransactionConflict):
            return False

    def _reads(self) -> bool:
        try:
            with self._runtime.database.read() as db:
                meta.get(db, WRITE_CHECK)
        except (Problem, TransactionConflict):
            return False
        except Exception:
            log.exception("the database cannot be read")  # probably damaged
            return False
        return True

    def _writes(self) -> bool:
        """Return True if a write that needs space can be committed. It is not flushed, and leaves one short row."""
        self._count += 1
        database = self._runtime.database
        try:
            with database.relaxed_durability(), database.write() as db:
                db.raw("SAVEPOINT space")
                meta.put(db, WRITE_CHECK, "x" * WRITE_CHECK_BYTES)
                db.raw("ROLLBACK TO SAVEPOINT space")
                # Another value than before: SQLite writes nothing where nothing changes.
                meta.put(db, WRITE_CHECK, [self._worker.heartbeat.id, self._count])
        except (Duplicate, TransactionConflict):
            return True  # another process writes the same row for the same reason
        except Problem:
            return False
        except Exception:
            log.exception("the database cannot be written to")
            return False
        return True
