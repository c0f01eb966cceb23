"""``crofter admin clock back``: service time put back to the machine's clock, if no money depends on the difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import crofter.registry  # noqa: F401 - every table
from crofter import clock
from crofter.bootstrap import build_runtime
from crofter.cli.opening import must_exist
from crofter.cli.operators import Arguments, Refused, Rows, on_servers_record
from crofter.config import Settings
from crofter.context import Runtime
from crofter.db import Session, query
from crofter.db.sql import bindparam, delete, func, or_, select
from crofter.engine import putting_back, timekeeping
from crofter.engine.putting_back import Times
from crofter.errors import Invalid
from crofter.login.store import attempt
from crofter.resources.account.store import account
from crofter.resources.billing import store as billing
from crofter.resources.billing.meters import meter

_NOW: Any = bindparam("now")
_MOMENT: Any = bindparam("moment")
_DATED = {
    "invoices": query(select(func.count()).where(billing.invoice.c.date > _MOMENT)),
    "payments": query(select(func.count()).where(billing.payment.c.date > _MOMENT)),
    "entries in the books": query(select(func.count()).where(billing.ledger.c.at > _MOMENT)),
}
"""Rows about money whose date is after the machine's time, as text."""
_TIMED = {
    "charges": query(select(func.count()).where(billing.charge.c.created > _NOW)),
    "meters": query(
        select(func.count()).where(or_(meter.c.began > _NOW, meter.c.ended > _NOW, meter.c.billed_until > _NOW))
    ),
}
"""The same, in milliseconds."""
_FIRST_ACCOUNT = query(select(func.min(account.c.active_since)))
_ATTEMPTS = query(delete(attempt).where(attempt.c.last > _NOW))
DO = "see 'A clock that is wrong' in docs/operating.md"


def back(settings: Settings, arguments: Arguments) -> Rows:
    """Put service time back, with every server and worker stopped."""
    must_exist(settings)
    runtime = build_runtime(settings)
    try:
        _must_be_alone(runtime)
        timekeeping.load(runtime)
        with runtime.database.write() as db:
            times = putting_back.times(runtime, db)
            if times.ahead >= clock.SECOND:
                _must_be_possible(runtime, db, times)
                putting_back.put_back(runtime, db, times.machine)
                db.run(_ATTEMPTS, now=times.machine)
        on_servers_record(runtime, arguments)
    finally:
        runtime.database.close()
    seconds = max(0, round(times.ahead / clock.SECOND))
    return [{"put_back_seconds": seconds, "service_time": clock.text(min(times.told, times.machine))}]


def _must_be_alone(runtime: Runtime) -> None:
    if runtime.database.dialect == "sqlite":
        return  # the file was opened for this process alone
    from crofter.db import backups  # noqa: PLC0415 - PostgreSQL's driver is not there for SQLite alone

    if backups.in_use(runtime.database):
        raise Invalid("a server or a worker is at this database; stop them all first")


def _must_be_possible(runtime: Runtime, db: Session, times: Times) -> None:
    setting = runtime.clock.setting
    if setting.mode != "real" or setting.offset:
        raise Invalid("the clock of this database was set by a sandbox, and is put back there")
    if clock.text(times.machine) < str(db.value(_FIRST_ACCOUNT)):
        raise Invalid(f"the machine's clock shows {clock.text(times.machine)}, before the first account was opened")
    committed = list(_committed(db, times))
    if committed:
        raise Refused(committed)


def _committed(db: Session, times: Times) -> Iterator[dict[str, Any]]:
    """Yield what stands in the way, with how much there is of it."""
    now, moment = times.machine, clock.text(times.machine)
    counts = {what: db.value(counted, moment=moment) for what, counted in _DATED.items()}
    counts |= {what: db.value(counted, now=now) for what, counted in _TIMED.items()}
    for what, count in counts.items():
        if count:
            yield {"what": f"{what} after {moment}", "count": int(count), "do": DO}
    if count := putting_back.unfinished(db, now):
        do = "start the server with the machine's clock right, and wait until operations list is empty"
        yield {"what": "operations under way", "count": count, "do": do}
