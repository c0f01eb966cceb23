"""House time as every process agrees on it: the clock's setting is a row, and each claim reads it."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import BigInteger, text

from crofter.clock import Setting, machine_now
from crofter.context import World
from crofter.db import Json, Row, Session, meta, query

CLOCK = "clock"
CONDUCTING = "conducting"
"""Set while a conductor has stopped a running clock, so that its sudden death does not leave it standing."""


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


def now(world: World, db: Session) -> int:
    """House time in milliseconds, by the clock that all processes on this database share."""
    if db.dialect == "sqlite":
        return world.clock.now()
    reading = db.one(_SHARED)
    setting = _adopt(world, reading.setting)
    return setting.frozen_at if setting.mode == "frozen" else reading.machine + setting.offset


def load(world: World) -> None:
    """Take up the stored setting, after a start or when another process has changed it."""
    with world.database.read() as db:
        _adopt(world, meta.get(db, CLOCK))


def _adopt(world: World, stored: Any) -> Setting:
    setting = Setting() if stored is None else msgspec.convert(stored, Setting)
    # Another thread may have read later and come here first; time does not go back for that.
    if stored is None or setting.serial > world.clock.setting.serial:
        world.clock.setting = setting
    return setting


def put(world: World, setting: Setting, *, conducting: bool = False) -> None:
    """Set the clock, for this process and, through the database, for all others."""
    with world.database.write() as db:
        setting = _store(world, db, setting, conducting=conducting)
    world.clock.setting = setting


def running_from(world: World, moment: int, least: Setting | None = None) -> None:
    """Let the clock run on from ``moment``, or from what ``least`` shows by now if that is later."""
    with world.database.write() as db:
        real = machine(db)
        moment = max(moment, real + least.offset) if least else moment
        setting = _store(world, db, Setting("real", moment - real, 0), conducting=False)
    world.clock.setting = setting


def _store(world: World, db: Session, setting: Setting, *, conducting: bool) -> Setting:
    # By the time of day, so that it grows even over a reset of the whole house.
    serial = max(world.clock.setting.serial + 1, machine(db))
    setting = msgspec.structs.replace(setting, serial=serial)
    meta.put(db, CLOCK, msgspec.to_builtins(setting))
    if meta.get(db, CONDUCTING, False) != conducting:
        meta.put(db, CONDUCTING, conducting)
    db.signal(CLOCK)
    db.signal("operations")
    return setting


def held(db: Session) -> bool:
    """Whether a conductor says that it holds the clock. It may have died since."""
    return bool(meta.get(db, CONDUCTING, False))
