"""Faults of the simulated hypervisor, injected by the sandbox."""

from __future__ import annotations

from msgspec.structs import replace

from crofter.db import query
from crofter.db.sql import bindparam, update
from crofter.drivers.hypervisor.errors import Absent, Refused
from crofter.drivers.hypervisor.ledger import changes, conditions, tables
from crofter.drivers.hypervisor.ledger.conditions import Conditions
from crofter.drivers.hypervisor.ledger.entries import Domain, Entry
from crofter.drivers.hypervisor.ledger.ledger import FAULTS, Ledger
from crofter.drivers.hypervisor.ledger.transactions import Transactions
from crofter.drivers.hypervisor.reports import Reason

_work = tables.work.c
_FAIL_OPEN = query(
    update(tables.work)
    .where(
        _work.operation == bindparam("served"),
        _work.kind == Domain.kind,
        _work.id == bindparam("number"),
        _work.ends > bindparam("now"),
    )
    .values(ends=bindparam("now"), failure=bindparam("why"))
)


class Faults:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def conditions(self) -> Conditions:
        """Return the active faults."""
        with self._transactions.reading() as ledger:
            return ledger.conditions

    def host_of(self, domain: int) -> int:
        """Return the host of a machine, by which faults are set."""
        with self._transactions.reading() as ledger:
            return _there(ledger, domain).host

    def power_off(self, domain: int, reason: Reason = "guest") -> None:
        """The guest shuts itself down, or dies."""
        host = self.host_of(domain)
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS, host))
            entry = _there(ledger, domain)
            if entry.doc is None or not entry.doc.on:
                raise Refused("The machine is not on.")
            _switch(ledger, entry, entry.doc.stopped(ledger.now, reason))

    def maintenance(self, host: int, *, begins: bool) -> None:
        """Switch off all machines of the host, or restart those that were on."""
        self._must_know(host)
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS, host))
            if begins == (host in ledger.conditions.maintenance):
                return
            changed = ledger.conditions.maintenance ^ {host}
            conditions.save(ledger.db, replace(ledger.conditions, maintenance=changed))
            for entry in ledger.all(Domain, host):
                if begins:
                    _host_leaves(ledger, entry)
                else:
                    _host_returns(ledger, entry)

    def unreachable(self, host: int, *, begins: bool) -> None:
        """The host does not answer, while its machines run on."""
        self._must_know(host)
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS,))
            hosts = ledger.conditions.unreachable | {host} if begins else ledger.conditions.unreachable - {host}
            conditions.save(ledger.db, replace(ledger.conditions, unreachable=hosts))

    def outage(self, region: str, *, begins: bool) -> None:
        """No host of the region answers."""
        if region not in self._transactions.fleet.regions:
            raise Absent(f"There is no region {region}.")
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS,))
            regions = ledger.conditions.outages | {region} if begins else ledger.conditions.outages - {region}
            conditions.save(ledger.db, replace(ledger.conditions, outages=regions))

    def clear(self) -> None:
        """Every host and region is well again."""
        for host in sorted(self.conditions().maintenance):
            self.maintenance(host, begins=False)
        with self._transactions.writing() as ledger:
            ledger.lock_hosts((FAULTS,))
            conditions.save(ledger.db, replace(ledger.conditions, unreachable=frozenset(), outages=frozenset()))

    def _must_know(self, host: int) -> None:
        if self._transactions.fleet.region(host) is None:
            raise Absent(f"There is no host {host}.")


def _there(ledger: Ledger, domain: int) -> Entry[Domain]:
    entry = ledger.find(Domain, domain)
    if entry is None or entry.doc is None:
        raise Absent(f"There is no domain {domain}.")
    return entry


def _host_leaves(ledger: Ledger, entry: Entry[Domain]) -> None:
    doc, becomes = entry.doc, entry.becomes
    assert doc is not None
    booting = becomes is not None and becomes.on and not doc.on
    if booting:
        values = {"served": entry.operation, "number": entry.id, "now": ledger.now}
        ledger.db.run(_FAIL_OPEN, **values, why="The host went into maintenance.")
        idle = replace(entry, due=None, becomes=None)
        _switch(ledger, idle, replace(doc, reason="host", resumes=True))
    elif doc.on:
        asked_off = entry.due is not None and (becomes is None or not becomes.on)
        _switch(ledger, entry, doc.stopped(ledger.now, "host", resumes=not asked_off))
    else:
        changes.tell(ledger, entry, doc)


def _host_returns(ledger: Ledger, entry: Entry[Domain]) -> None:
    assert entry.doc is not None
    if entry.doc.resumes:
        _switch(ledger, entry, entry.doc.started(ledger.now))
    else:
        changes.tell(ledger, entry, entry.doc)


def _switch(ledger: Ledger, entry: Entry[Domain], doc: Domain) -> None:
    """A machine changes by itself; of the work under way only the definition and the deletion are left."""
    becomes = entry.becomes if entry.becomes is None else replace(doc, spec=entry.becomes.spec)
    ledger.save(Domain, replace(entry, doc=doc, becomes=becomes))
    changes.tell(ledger, entry, doc)
