"""Snapshots of the whole sandbox: everything as it was, with what processes keep in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from crofter import clock
from crofter.context import Runtime
from crofter.db import meta
from crofter.db.schema import known_revisions
from crofter.db.snapshots import Snapshot, Snapshots, snapshots_of
from crofter.engine import timekeeping
from crofter.engine.tables import worker
from crofter.engine.time_travel import TimeTravel
from crofter.errors import Invalid, NotFound
from crofter.sandbox.faults import Faults
from crofter.sandbox.shapes import SnapshotView

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ASIDE = "snapshot"
"""The row of ``meta`` that a copy has and the database itself has not."""
SEEDED = ".seeded"
"""The state that a seed has made, to which a reset comes back. Callers cannot name it."""


class Aside(Struct, frozen=True):
    """Data saved besides the rows."""

    rng: Any
    faults: Any


class SandboxSnapshots:
    def __init__(
        self,
        runtime: Runtime,
        time_travel: TimeTravel,
        faults: Faults,
        *,
        forget: Callable[[], None],
        sign_in: Callable[[], None],
    ) -> None:
        """``forget``: drop what this process keeps in memory of the rows that were. ``sign_in``: be a worker again."""
        self._runtime = runtime
        self._time_travel = time_travel
        self._faults = faults
        self._forget = forget
        self._sign_in = sign_in
        self._kept: Snapshots = snapshots_of(runtime.database)

    def all(self) -> list[SnapshotView]:
        return [_view(snapshot) for snapshot in self._kept.all() if _NAME.fullmatch(snapshot.name)]

    def take(self, name: str) -> SnapshotView:
        database, rng = self._runtime.database, self._runtime.rng
        with self._time_travel.standstill():
            aside = Aside(rng.state(), self._faults.in_memory())
            with database.write() as db:
                meta.put(db, _ASIDE, msgspec.to_builtins(aside))
            try:
                kept = self._kept.take(name, clock.text(self._runtime.clock.now()), known_revisions()[-1])
            finally:
                with database.write() as db:
                    db.delete(meta.meta, name=_ASIDE)
        return _view(kept)

    def restore(self, name: str) -> None:
        snapshot = next((snapshot for snapshot in self._kept.all() if snapshot.name == name), None)
        if snapshot is None:
            raise NotFound
        if snapshot.revision != known_revisions()[-1]:
            raise Invalid("The snapshot was taken by another release, with another schema", field="name")
        with self._time_travel.standstill(then_as_stored=True):
            self._kept.restore(name)
            self._forget()
            with self._runtime.database.write() as db:
                aside = msgspec.convert(meta.get(db, _ASIDE), Aside)
                db.delete(meta.meta, name=_ASIDE)
                db.raw(f"DELETE FROM {worker.name}")  # workers of the snapshot may be dead; live ones register again
                timekeeping.put_back(self._runtime, db)
            self._sign_in()  # register now: on a frozen clock the next claim may be far away
            self._runtime.rng.go_on(aside.rng)
            self._faults.take_up(aside.faults)

    def has(self, name: str) -> bool:
        return any(snapshot.name == name for snapshot in self._kept.all())

    def delete(self, name: str) -> None:
        self._kept.delete(name)


def _view(snapshot: Snapshot) -> SnapshotView:
    return SnapshotView(snapshot.name, snapshot.created, snapshot.bytes)


def checked(name: str) -> str:
    """A name that a caller may give."""
    if not _NAME.fullmatch(name):
        raise Invalid("Must be 1-64 letters, digits, - and _", field="name")
    return name
