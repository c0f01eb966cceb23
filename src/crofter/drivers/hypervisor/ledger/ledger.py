"""A transaction of the ledger: objects, work, and the fences of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from crofter.clock import Clock
from crofter.db import Query, Row, Session, query
from crofter.db.sql import and_, bindparam, delete, exists, func, or_, select, text
from crofter.drivers.hypervisor.contract import Order
from crofter.drivers.hypervisor.errors import Absent, Stale, Unreachable
from crofter.drivers.hypervisor.ledger import conditions, read_counts, tables
from crofter.drivers.hypervisor.ledger.entries import D, Disk, Domain, Entry, Volume
from crofter.drivers.hypervisor.ledger.fleet import Fleet
from crofter.drivers.hypervisor.ledger.read_counts import UNTIL_READ
from crofter.drivers.hypervisor.reports import Progress
from crofter.drivers.hypervisor.specs import Ref

LOCKS = 0x51D
"""The class of PostgreSQL's advisory locks under which hosts are held."""
FAULTS = 0
"""Lock number for changes of faults, in place of a host's number."""

_entries = tables.thing.c
_work = tables.work.c
_NAMES = [name for name in _entries.keys() if name != "kind"]  # noqa: SIM118 - columns are no dictionary
_COLUMNS = [_entries[name] for name in _NAMES]


class VolumeAt(Ref, frozen=True):
    """A volume by number; the host is the storage of its region."""

    kind = Volume.kind
    prefix = "v"


class NotYet(Exception):
    """Earlier work of the same operation comes first, perhaps only because this clock is a moment behind."""

    def __init__(self, due: int) -> None:
        self.due = due
        super().__init__(due)


class Record(Row):
    id: int
    host: int
    doc: Any
    due: int | None
    becomes: Any
    heading: int | None
    operation: int
    fence: int


class StepContext(Row):
    """A piece of work that was begun."""

    begun: int
    ends: int
    amount: int
    failure: str | None
    reached: int | None = None
    """Percent of the operation at which it fails, if not at its end."""

    def progress(self, now: int) -> Progress:
        # The clock of another process may be a moment ahead: work without duration is done in any case.
        if now >= self.ends or self.begun == self.ends:
            if self.failure is None:
                return Progress()
            return Progress(done=False, failure=self.failure, reached=self.reached)
        if self.ends == UNTIL_READ:
            return Progress(done=False, percent=0, remaining=inf)
        whole = self.ends - self.begun
        percent = min(99, max(0, 100 * (now - self.begun) // whole))
        rate = round(self.amount * 1000 / whole, 2) if self.amount else None
        return Progress(
            done=False, percent=percent, remaining=(self.ends - now) / 1000, rate=rate, reached=self.reached
        )


class Timing(NamedTuple):
    ends: int
    failure: str | None = None
    reached: int | None = None


_OF_KIND = select(*_COLUMNS).where(_entries.kind == bindparam("kind"))
_ONE = query(_OF_KIND.where(_entries.id == bindparam("id")), Record)
_ALL = query(_OF_KIND.order_by(_entries.id), Record)
_ON_HOST = query(
    _OF_KIND.where(or_(_entries.host == bindparam("host"), _entries.heading == bindparam("host"))).order_by(
        _entries.id
    ),
    Record,
)
_ON_THING = (
    _work.operation == bindparam("operation"),
    _work.kind == bindparam("kind"),
    _work.id == bindparam("id"),
)
_BEGUN = query(
    select(_work.begun, _work.ends, _work.amount, _work.failure, _work.reached).where(
        *_ON_THING, _work.step == bindparam("step"), _work.verb == bindparam("verb")
    ),
    StepContext,
)
_SAVED = [name for name in _NAMES if name != "id"]
_SAVE: Query[Any] = query(
    text(
        f"INSERT INTO hypervisor_thing (kind, id, {', '.join(_SAVED)})"
        f" VALUES (:kind, :id, {', '.join(f':{name}' for name in _SAVED)})"
        f" ON CONFLICT (kind, id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _SAVED)}"
    ).bindparams(*(bindparam(name, type_=_entries[name].type) for name in ("doc", "becomes")))
)
_SERVED = query(select(func.count()).select_from(tables.work).where(*_ON_THING))
_FIRST = query(select(func.min(_work.begun)).where(_work.operation == bindparam("operation")))
_FAILURES = query(select(func.count(_work.failure)).where(_work.operation == bindparam("operation")))

_TABLES = (tables.thing, tables.work, tables.read_count, tables.change, tables.setting)
_EVERYTHING = [query(delete(table)) for table in _TABLES]
_OLD_WORK = query(delete(tables.work).where(_work.ends < bindparam("before")))
_OLD_CHANGES = query(delete(tables.change).where(tables.change.c.at < bindparam("before")))
_LONG_GONE = query(
    delete(tables.thing).where(
        or_(_entries.doc.is_(None), and_(_entries.becomes.is_(None), _entries.due < bindparam("before"))),
        ~exists().where(_work.operation == _entries.operation, _work.kind == _entries.kind, _work.id == _entries.id),
    )
)


class Ledger:
    def __init__(self, db: Session, clock: Clock, fleet: Fleet) -> None:
        self.db = db
        self.fleet = fleet
        self.serving: int | None = None
        """The operation on whose behalf things are looked for."""
        self._clock = clock
        self._now: int | None = None
        self._conditions: conditions.Conditions | None = None

    def lock_hosts(self, hosts: Iterable[int]) -> None:
        """Keep every other writer off these hosts until the transaction ends. SQLite has one writer anyway."""
        if self.db.dialect == "postgresql":
            for host in sorted(set(hosts)):
                self.db.raw_later("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, host))
            # Time will have passed, and the conditions may have changed, when the first statement after it is answered.
            self._now = self._conditions = None

    @property
    def now(self) -> int:
        """The same through the whole transaction."""
        if self._now is None:
            self._now = self._clock.now()
        return self._now

    def ask_ahead(self, document: type[D], number: int, verb: str, order: Order) -> None:
        """Prefetch the rows that every verb reads: object, work and conditions."""
        self.db.ask_ahead(_ONE, kind=document.kind, id=number)
        self.db.ask_ahead(_BEGUN, **_work_of(document.kind, number, verb, order))
        conditions.ask_ahead(self.db)

    def ask_timing(self, order: Order) -> None:
        """Prefetch the rows that the start of work reads."""
        self.db.ask_ahead(_FIRST, operation=order.operation)

    @property
    def conditions(self) -> conditions.Conditions:
        """Return the conditions of the sandbox, read once per transaction."""
        if self._conditions is None:
            self._conditions = conditions.load(self.db)
        return self._conditions

    def find(self, document: type[D], number: int) -> Entry[D] | None:
        """Return the object's present state, also if it is gone."""
        record = self.db.maybe(_ONE, kind=document.kind, id=number)
        return None if record is None else _entry(document, record).at(self.now)

    def get(self, document: type[D], ref: Ref) -> Entry[D]:
        """The thing on the host where it was put, or Absent; NotYet while its own operation is still at it."""
        entry = self.find(document, ref.id)
        if entry is None or entry.doc is None or entry.host != ref.host:
            raise Absent(f"There is no {document.kind} {ref.id} on host {ref.host}.")
        self.fleet.must_reach(self.conditions, ref.host)
        if entry.due is not None and entry.operation == self.serving:
            raise NotYet(entry.due)
        return entry

    def all(self, document: type[D], host: int | None = None) -> list[Entry[D]]:
        """Return the existing objects in order of number."""
        if host is None:
            records = self.db.all(_ALL, kind=document.kind)
        else:
            records = self.db.all(_ON_HOST, kind=document.kind, host=host)
        entries = [_entry(document, record).at(self.now) for record in records]
        return [entry for entry in entries if entry.doc is not None and host in (None, entry.host)]

    def states(self, document: type[D]) -> list[D]:
        """Every state that a thing is in or may come into, wherever it is."""
        entries = [_entry(document, record) for record in self.db.all(_ALL, kind=document.kind)]
        return [state for entry in entries for state in (entry.doc, entry.becomes) if state is not None]

    def save(self, document: type[D], changed: Entry[D]) -> None:
        values = msgspec.structs.asdict(changed)
        number = values.pop("id")
        self.db.run_later(_SAVE, kind=document.kind, id=number, **values)

    def user(self, disk: Entry[Disk]) -> Entry[Domain] | None:
        """The machine that uses a disk now, or is about to."""
        return self._user(disk, lambda state: state.active is not None and disk.id in state.active.disks)

    def volume_user(self, volume: Entry[Volume]) -> Entry[Domain] | None:
        """The machine that a volume is plugged into now, or is about to be."""
        return self._user(volume, lambda state: volume.id in state.plugged)

    def _user(self, used: Entry[Disk] | Entry[Volume], uses: Callable[[Domain], bool]) -> Entry[Domain] | None:
        if used.doc is None or used.doc.user is None:
            return None
        domain = self.find(Domain, used.doc.user)
        states = () if domain is None else (domain.doc, domain.becomes)
        return domain if any(state is not None and uses(state) for state in states) else None

    def begun(self, kind: str, number: int, verb: str, order: Order) -> StepContext | None:
        return self.db.maybe(_BEGUN, **_work_of(kind, number, verb, order))

    def admit(self, document: type[D], known: Entry[D] | None, order: Order) -> None:
        """Refuse a worker that has lost its operation, and an operation that another one has followed."""
        if known is None:
            return
        if known.operation == order.operation:
            if order.fence < known.fence:
                raise Stale(f"Fence {order.fence} of operation {order.operation} is older than {known.fence}.")
        elif self.db.value(_SERVED, operation=order.operation, kind=document.kind, id=known.id):
            raise Stale(f"Operation {known.operation} has followed operation {order.operation}.")

    def take(self, document: type[D], known: Entry[D], order: Order, *, anew: bool) -> Entry[D]:
        """The thing in the service of this order; what another operation had begun on it is given up."""
        if known.due is not None:
            if known.operation == order.operation and not anew:
                raise NotYet(known.due)
            if document.kind == Domain.kind and known.heading is not None:
                self._keep_together(known)
            known = replace(known, due=None, becomes=None, heading=None)
        return replace(known, operation=order.operation, fence=order.fence)

    def _keep_together(self, domain: Entry[Any]) -> None:
        """The disks that were to move with a machine stay with it, when the move is given up."""
        for disk in self.all(Disk, domain.host):
            if disk.operation == domain.operation and disk.heading == domain.heading:
                self.save(Disk, replace(disk, due=None, becomes=None, heading=None))

    def timing(self, order: Order) -> Timing:
        """When work that begins now ends, and why it will have failed then."""
        transition = self.conditions.transition(order.action)
        failure = transition.fail
        if failure is not None and self.db.value(_FAILURES, operation=order.operation):
            failure = None  # an operation fails once, so that it can tidy up after itself
        if transition.reads is not None:
            released = read_counts.begun(self.db, order.operation, transition.reads).released
            return Timing(self.now if released else UNTIL_READ, failure)
        until = order.until
        if failure is not None and transition.fail_at is not None:
            if transition.fail_at < until or until == 100:
                until = transition.fail_at
            else:
                failure = None  # a later part of the operation fails
        first = self.db.value(_FIRST, operation=order.operation)
        ends = self.conditions.ends(order.action, until, self.now if first is None else first)
        return Timing(max(self.now, ends), failure, None if failure is None else transition.fail_at)

    def clear(self) -> None:
        for statement in _EVERYTHING:
            self.db.run(statement)

    def forget(self, before: int) -> int:
        """Drop finished work from before, and the memory of deleted things that no work is left of."""
        gone = sum(self.db.run(statement, before=before) for statement in (_OLD_WORK, _OLD_CHANGES, _LONG_GONE))
        return gone + self.db.run(read_counts.FORGET_RELEASED)

    def reach(self, known: Entry[D] | None, hosts: Iterable[int]) -> None:
        """Require that all these hosts answer, and that the object is on one of them."""
        held = set(hosts)
        if known is not None and known.doc is not None and known.host not in held:
            raise Unreachable("It is being moved.")  # between the first look and the lock: the next call finds it
        for host in sorted(held):
            self.fleet.must_reach(self.conditions, host)


def _work_of(kind: str, number: int, verb: str, order: Order) -> dict[str, Any]:
    return {"kind": kind, "id": number, "verb": verb, "operation": order.operation, "step": order.step}


def _entry(document: type[D], record: Record) -> Entry[D]:
    doc, becomes = (msgspec.convert(part, document | None) for part in (record.doc, record.becomes))
    return Entry(record.id, record.host, doc, record.due, becomes, record.heading, record.operation, record.fence)
