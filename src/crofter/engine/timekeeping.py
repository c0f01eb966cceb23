"""Service time shared by every process: the clock's setting is a row, and each claim reads it.

So is its high-water mark: the latest machine time that any process is known to have used. After a restart, or on a
machine whose clock is behind, service time continues from there.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from crofter.clock import SECOND, Mode, Setting, machine_now
from crofter.context import Runtime
from crofter.db import Json, Lock, Row, Session, meta, query
from crofter.db.sql import BigInteger, text

CLOCK = "clock"
MARK = "clock_mark"
MARK_EVERY = 3
"""Seconds between two looks at the mark."""
_UNMARKED = 2 * MARK_EVERY * SECOND
"""Milliseconds that a killed process may have used the time after the last stored mark."""
TIME_TRAVELLING = "time_travelling"
"""Key of the clock mode that follows an advance: the clock resumes even if the advancing process dies."""


class _Reading(Row):
    machine: int
    setting: Any
    mark: Any


class _Mark(Struct, frozen=True):
    """Latest used time, in real milliseconds."""

    machine: int = 0
    era: int = 0
    """Time was put back on purpose, by a reset, when this is higher than what a process knows."""
    final: bool = False
    """True if stored at the end of a process, so that no later time was used."""


# Machines disagree about the time; the database they share does not. A millisecond counts once it is over, as in a
# machine's own clock: rounded, it would be ahead of that one, and time would go back by one when a clock runs on.
_SHARED = query(
    text(
        "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS machine,"
        " (SELECT value FROM meta WHERE name = 'clock') AS setting,"
        " (SELECT value FROM meta WHERE name = 'clock_mark') AS mark"
    ).columns(machine=BigInteger, setting=Json, mark=Json),
    _Reading,
)


def machine(db: Session) -> int:
    """Real time in milliseconds, by the clock that all processes on this database share. For leases: it may be set."""
    return machine_now() if db.dialect == "sqlite" else db.one(_SHARED).machine


def now(runtime: Runtime, db: Session) -> int:
    """Service time in milliseconds, by the clock that all processes on this database share."""
    if db.dialect == "sqlite" or runtime.clock.held:
        return runtime.clock.now()
    setting = _follow(runtime, db)
    return setting.frozen_at if setting.mode == "frozen" else runtime.clock.machine() + setting.offset


def _follow(runtime: Runtime, db: Session) -> Setting:
    """Bring this process's clock to what all of them share."""
    reading = db.one(_SHARED)
    mark = _mark(reading.mark)
    clock = runtime.clock
    put_back = clock.join(mark.era, mark.machine)
    clock.correct(reading.machine)
    if mark.era < clock.era:
        return clock.setting  # another thread has seen since that the whole database was put back
    return _adopt(runtime, reading.setting, put_back=put_back)


def _mark(stored: Any) -> _Mark:
    return _Mark() if stored is None else msgspec.convert(stored, _Mark)


def begin(runtime: Runtime, db: Session) -> None:
    """Take up setting and mark: at the start of a process, or after the whole database was put back."""
    clock, mark = runtime.clock, _mark(meta.get(db, MARK))
    starting = clock.era == 0
    era = max(1, mark.era) if starting else max(mark.era, clock.era) + 1
    shared = None if db.dialect == "sqlite" else machine(db)
    real = clock.wall() // 1_000_000 if shared is None else shared
    killed = starting and not mark.final
    least = mark.machine + _UNMARKED if killed and real < mark.machine else mark.machine
    # A guarded clock goes on from the mark: what the machine shows may be the jump that it is guarded against.
    clock.begin_era(era, least if clock.guarded and least else max(shared or 0, least))
    if shared is not None:
        clock.correct(shared)
    clock.setting = msgspec.convert(meta.get(db, CLOCK, {}), Setting)
    _write_mark(runtime, db, final=False)


def keep_mark(runtime: Runtime, *, final: bool = False) -> None:
    """Store the present time, unless another process has just done so. ``final``: this process ends."""
    if runtime.database.dialect != "sqlite":
        with runtime.database.read() as db:
            _follow(runtime, db)
            if not final and runtime.clock.machine() - _mark(meta.get(db, MARK)).machine < MARK_EVERY * SECOND / 2:
                return
    with runtime.database.write() as db:
        db.lock(Lock.SYSTEM)  # a restore of the whole database holds the lock and stores its own mark
        mark = _mark(meta.get(db, MARK))
        if mark.era == runtime.clock.era and runtime.clock.guarded:
            runtime.clock.raise_to(mark.machine)  # an operator accepted the time that the machine's clock shows
        if mark.era == runtime.clock.era and mark.machine <= runtime.clock.machine():
            _write_mark(runtime, db, final=final)


def _write_mark(runtime: Runtime, db: Session, *, final: bool) -> None:
    mark = _Mark(runtime.clock.machine(), runtime.clock.era, final)
    meta.put(db, MARK, msgspec.to_builtins(mark))


def accept(runtime: Runtime) -> float:
    """Let service time follow a machine's clock that jumped forward; by how many seconds.

    Every process raises its clock to the mark when it next looks at that.
    """
    with runtime.database.write() as db:
        db.lock(Lock.SYSTEM)
        ahead = runtime.clock.ahead()
        if ahead:
            mark = _mark(meta.get(db, MARK))
            accepted = msgspec.structs.replace(mark, machine=machine(db))
            meta.put(db, MARK, msgspec.to_builtins(accepted))
            runtime.clock.raise_to(accepted.machine)
    return ahead


def begin_again(runtime: Runtime, db: Session, moment: int) -> None:
    """Continue service time from ``moment``, earlier than the last reading, in a new era. No other process may run."""
    clock = runtime.clock
    clock.begin_era(max(_mark(meta.get(db, MARK)).era, clock.era) + 1, moment)
    meta.put(db, MARK, msgspec.to_builtins(_Mark(moment, clock.era, final=True)))


def load(runtime: Runtime) -> None:
    """Take up the stored setting and mark, for a command, or when another process has changed them."""
    with runtime.database.read() as db:
        if db.dialect == "sqlite":
            runtime.clock.raise_to(_mark(meta.get(db, MARK)).machine)
            _adopt(runtime, meta.get(db, CLOCK))
        else:
            _follow(runtime, db)


def _adopt(runtime: Runtime, stored: Any, *, put_back: bool = False) -> Setting:
    setting = Setting() if stored is None else msgspec.convert(stored, Setting)
    # Another thread may have read later and come here first, even a clock that was never set before; time does not go
    # back for that.
    if put_back or setting.serial > runtime.clock.setting.serial:
        runtime.clock.setting = setting
    return runtime.clock.setting


def ask_ahead(runtime: Runtime, db: Session) -> None:
    """Prefetch the row for ``now``: the query is sent with the next statement."""
    if db.dialect != "sqlite" and not runtime.clock.held:
        db.ask_ahead(_SHARED)


def put(runtime: Runtime, setting: Setting) -> None:
    """Set the clock for this process and, through the database, for all others. Ends an advance."""
    with runtime.database.write() as db:
        setting = _store(runtime, db, setting)
        _say(db, None)
    runtime.clock.setting = setting


def hold(runtime: Runtime, moment: int, *, afterwards: Mode) -> None:
    """Freeze the clock for an advance, and store the mode that follows."""
    with runtime.database.write() as db:
        setting = _store(runtime, db, Setting("frozen", 0, moment))
        _say(db, afterwards)
    runtime.clock.setting = setting


def jump(runtime: Runtime, moment: int) -> None:
    """Set a clock that this process holds."""
    with runtime.database.write() as db:
        setting = _store(runtime, db, Setting("frozen", 0, moment))
    runtime.clock.setting = setting


def move(runtime: Runtime, db: Session, moment: int) -> None:
    """Set a held clock inside a running transaction, which is not visible to others."""
    runtime.clock.setting = _store(runtime, db, Setting("frozen", 0, moment))


def put_back(runtime: Runtime, db: Session) -> None:
    """Go on from the clock that a snapshot of the whole database has brought back, earlier or later than ours."""
    begin(runtime, db)
    runtime.clock.setting = _store(runtime, db, runtime.clock.setting)


def running_from(runtime: Runtime, moment: int, least: Setting | None = None) -> None:
    """Let the clock run on from ``moment``, or from what ``least`` shows by now if that is later."""
    with runtime.database.write() as db:
        real = _real(runtime, db)
        moment = max(moment, real + least.offset) if least else moment
        setting = _store(runtime, db, Setting("real", moment - real, 0))
        _say(db, None)
    runtime.clock.setting = setting


def let_go(runtime: Runtime, least: Setting | None = None) -> None:
    """End the hold of the clock: it runs or stays frozen, as stored."""
    with runtime.database.read() as db:
        afterwards = held(db)
    if afterwards == "real":
        running_from(runtime, runtime.clock.now(), least=least)
    elif afterwards == "frozen":
        put(runtime, runtime.clock.setting)


def _real(runtime: Runtime, db: Session) -> int:
    """Return the reference time that a running clock is offset from."""
    if db.dialect != "sqlite" and not runtime.clock.held:
        runtime.clock.correct(db.one(_SHARED).machine)
    return runtime.clock.machine()


def _store(runtime: Runtime, db: Session, setting: Setting) -> Setting:
    # Based on the time of day, so that it grows even over a reset of the server.
    serial = max(runtime.clock.setting.serial + 1, _real(runtime, db))
    setting = msgspec.structs.replace(setting, serial=serial)
    meta.put(db, CLOCK, msgspec.to_builtins(setting))
    db.signal(CLOCK)
    if setting.mode == "real":
        db.signal("operations")  # while time stands, there is nothing to take up
    return setting


def _say(db: Session, afterwards: Mode | None) -> None:
    meta.put(db, TIME_TRAVELLING, afterwards or "")


def held(db: Session) -> Mode | None:
    """Return the stored mode that follows an advance in progress, or None. Its process may have died."""
    afterwards: Mode | None = meta.get(db, TIME_TRAVELLING) or None
    return afterwards
