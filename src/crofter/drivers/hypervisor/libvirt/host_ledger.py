"""Ledger of the libvirt driver: objects, orders and fences, with the rules of the simulated hypervisor.

The same plans decide the permissions and effects of a verb for both drivers. There a change takes effect at its time;
here, when a job on a host has completed. Until then its time is NEVER.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from crofter.clock import Clock, machine_now
from crofter.db import Database, Row, Session, query
from crofter.db.sql import BigInteger, bindparam, select, text, update
from crofter.drivers.hypervisor.contract import Order
from crofter.drivers.hypervisor.ledger import tables as shared
from crofter.drivers.hypervisor.ledger.conditions import Conditions
from crofter.drivers.hypervisor.ledger.entries import Backup, D, Disk, Domain, Entry, Image, Volume, Wiring
from crofter.drivers.hypervisor.ledger.ledger import Ledger, Timing
from crofter.drivers.hypervisor.ledger.transactions import store_faults
from crofter.drivers.hypervisor.libvirt import fleet, tables
from crofter.drivers.hypervisor.libvirt.fleet import RealFleet

NEVER = 253_402_300_799_998
"""The moment at which work ends that is under way: later than any clock here goes."""
LEASE = 15_000
"""Milliseconds without a sign of life after which the process that had a job counts as dead."""
DOCUMENTS: dict[str, Any] = {document.kind: document for document in (Backup, Disk, Domain, Image, Volume, Wiring)}

Key = tuple[str, int]
"""A thing by kind and number."""


class JobRow(Row):
    """A piece of work that some process is at."""

    id: int
    operation: int
    kind: str
    thing: int
    step: str
    verb: str
    changes: Any
    """The things that it changes, each as kind and number."""
    reads: Any
    """Objects whose bytes the job copies."""
    owner: str
    begun: int
    beat: int
    expected: int
    """Expected duration in milliseconds."""
    state: str
    """``running``; or ``dropping`` when another operation has taken its thing over, and it has still to notice."""

    def meets(self, changes: set[Key], reads: set[Key]) -> bool:
        own = {(kind, number) for kind, number in self.changes}
        copied = {(kind, number) for kind, number in self.reads}
        return bool(own & (changes | reads) or copied & changes)


_jobs, _work = tables.job.c, shared.work.c
_JOBS = query(select(*_jobs).order_by(_jobs.id), JobRow)
_JOB = query(select(*_jobs).where(_jobs.id == bindparam("id")), JobRow)
_OF_WORK = query(
    select(*_jobs).where(
        _jobs.operation == bindparam("operation"),
        _jobs.kind == bindparam("kind"),
        _jobs.thing == bindparam("thing"),
        _jobs.step == bindparam("step"),
        _jobs.verb == bindparam("verb"),
    ),
    JobRow,
)
BEAT = query(
    update(tables.job)
    .where(_jobs.id == bindparam("number"), _jobs.owner == bindparam("me"))
    .values(beat=bindparam("now"))
)
_DATABASE_TIME = query(
    text("SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now").columns(now=BigInteger)
)


class HostLedger(Ledger):
    """A transaction of the ledger. Reachability of hosts is determined before it: transactions never wait for hosts."""

    fleet: RealFleet

    def __init__(self, db: Session, clock: Clock, fleet: RealFleet, unreachable: frozenset[int] = frozenset()) -> None:
        super().__init__(db, clock, fleet)
        self._conditions = Conditions(maintenance=fleet.closed, unreachable=unreachable)

    def lock_hosts(self, hosts: Iterable[int]) -> None:
        known = self._conditions
        super().lock_hosts(hosts)
        self._conditions = known

    def timing(self, order: Order) -> Timing:
        return Timing(NEVER)

    def find(self, document: type[D], number: int) -> Entry[D] | None:
        entry = super().find(document, number)
        if entry is not None and self.fleet.is_gone(entry.host):
            return replace(entry, doc=None, due=None, becomes=None, heading=None)
        return entry

    def all(self, document: type[D], host: int | None = None) -> list[Entry[D]]:
        entries = super().all(document, host)
        own = {*self.fleet.entries, *(self.fleet.storage(region) for region in self.fleet.regions)}
        return [entry for entry in entries if entry.host in own and entry.host not in self.fleet.lost]

    # ---- jobs -------------------------------------------------------------------------------------------------------

    @property
    def lease_time(self) -> int:
        """Real milliseconds by the clock of the database: those of the machines of several processes may differ."""
        return machine_now() if self.db.dialect == "sqlite" else int(self.db.value(_DATABASE_TIME))

    def living(self, jobs: Iterable[JobRow]) -> set[int]:
        """The numbers of those whose process gives signs of life."""
        now = self.lease_time
        return {job.id for job in jobs if now - job.beat < LEASE}

    def jobs(self) -> list[JobRow]:
        return self.db.all(_JOBS)

    def job(self, number: int) -> JobRow | None:
        return self.db.maybe(_JOB, id=number)

    def job_of(self, kind: str, number: int, verb: str, order: Order) -> JobRow | None:
        return self.db.maybe(_OF_WORK, operation=order.operation, kind=kind, thing=number, step=order.step, verb=verb)

    def end(self, job: JobRow, failure: str | None, becomes: dict[Key, Any], *, over: bool) -> None:
        """Apply or drop the planned changes of a job. ``over``: the job has no work left."""
        for kind, number in job.changes:
            document = DOCUMENTS[kind]
            entry = super().find(document, number)  # the stored state, also on a host that was lost meanwhile
            if entry is None or entry.due != NEVER or entry.operation != job.operation:
                continue
            if failure is None:
                after = becomes.get((kind, number), entry.becomes)
                entry = replace(entry, due=self.now, becomes=dated(after, self.now)).at(self.now)
            else:
                entry = replace(entry, due=None, becomes=None, heading=None)
            self.save(document, entry)
        if not over:
            return
        key = {"operation": job.operation, "kind": job.kind, "id": job.thing, "step": job.step, "verb": job.verb}
        self.db.update(shared.work, key, ends=self.now, failure=failure)
        self.db.delete(tables.job, id=job.id)


def dated(document: Any, now: int) -> Any:
    """With the true moment wherever the end of the work was noted down."""
    if document is None:
        return None
    plain = _dated(msgspec.to_builtins(document), now)
    return msgspec.convert(plain, type(document))


def _dated(part: Any, now: int) -> Any:
    if isinstance(part, dict):
        return {name: _dated(value, now) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_dated(value, now) for value in part]
    return now if part == NEVER else part


class Store:
    """Opens transactions, short ones of the driver's own."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def now(self) -> int:
        return self._clock.now()

    @contextmanager
    def reading(self, unreachable: frozenset[int] = frozenset()) -> Iterator[HostLedger]:
        with store_faults(), self._database.read() as db:
            yield HostLedger(db, self._clock, fleet.load(db), unreachable)

    @contextmanager
    def writing(self, unreachable: frozenset[int] = frozenset()) -> Iterator[HostLedger]:
        with store_faults(), self._database.write() as db:
            yield HostLedger(db, self._clock, fleet.load(db), unreachable)
