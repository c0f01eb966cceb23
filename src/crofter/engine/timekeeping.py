"""Service time as every process agrees on it: the clock's setting is a row, and each claim reads it."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import BigInteger, text

from crofter.clock import Setting, machine_now
from crofter.context import Runtime
from crofter.db import Json, Row, Session, meta, query

CLOCK = "clock"
TIME_TRAVELLING = "conducting"
"""Set while a time traveller has stopped a running clock, so that its sudden death does not leave it standing."""


class _Reading(Row):
    machine: int
    setting: Any


# Machines disagree about the time; the database they share does not. A millisecond counts once it is over, as in a
# machine's own clock: rounded, it would be ahead of that one, and time would go back by one when a clock runs on.
_SHARED = query(
    text(
        "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS machine,"
        " (SELECT value FROM meta WHERE name = 'clock') AS setting"
    ).columns(machine=BigInteger, setting=Json),
    _Reading,
)


def machine(db: Session) -> int:
    """Real time in milliseconds, by the clock that all processes on this database share."""
    return machine_now() if db.dialect == "sqlite" else db.one(_SHARED).machine


def now(runtime: Runtime, db: Session) -> int:
    """Service time in milliseconds, by the clock that all processes on this database share."""
    if db.dialect == "sqlite":
        return runtime.clock.now()
    reading = db.one(_SHARED)
    setting = _adopt(runtime, reading.setting)
    return setting.frozen_at if setting.mode == "frozen" else reading.machine + setting.offset


def load(runtime: Runtime) -> None:
    """Take up the stored setting, after a start or when another process has changed it."""
    with runtime.database.read() as db:
        _adopt(runtime, meta.get(db, CLOCK))


def _adopt(runtime: Runtime, stored: Any) -> Setting:
    setting = Setting() if stored is None else msgspec.convert(stored, Setting)
    # Another thread may have read later and come here first; time does not go back for that.
    if stored is None or setting.serial > runtime.clock.setting.serial:
        runtime.clock.setting = setting
    return setting


def put(runtime: Runtime, setting: Setting, *, time_travelling: bool = False) -> None:
    """Set the clock, for this process and, through the database, for all others."""
    with runtime.database.write() as db:
        setting = _store(runtime, db, setting, time_travelling=time_travelling)
    runtime.clock.setting = setting


def running_from(runtime: Runtime, moment: int, least: Setting | None = None) -> None:
    """Let the clock run on from ``moment``, or from what ``least`` shows by now if that is later."""
    with runtime.database.write() as db:
        real = machine(db)
        moment = max(moment, real + least.offset) if least else moment
        setting = _store(runtime, db, Setting("real", moment - real, 0), time_travelling=False)
    runtime.clock.setting = setting


def _store(runtime: Runtime, db: Session, setting: Setting, *, time_travelling: bool) -> Setting:
    # By the time of day, so that it grows even over a reset of the whole server.
    serial = max(runtime.clock.setting.serial + 1, machine(db))
    setting = msgspec.structs.replace(setting, serial=serial)
    meta.put(db, CLOCK, msgspec.to_builtins(setting))
    if meta.get(db, TIME_TRAVELLING, False) != time_travelling:
        meta.put(db, TIME_TRAVELLING, time_travelling)
    db.signal(CLOCK)
    db.signal("operations")
    return setting


def held(db: Session) -> bool:
    """Whether a time traveller says that it holds the clock. It may have died since."""
    return bool(meta.get(db, TIME_TRAVELLING, False))
