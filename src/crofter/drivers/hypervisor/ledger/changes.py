"""Numbered records of unordered changes of machines, for followers."""

from __future__ import annotations

from crofter.db import Row, query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor.ledger import tables
from crofter.drivers.hypervisor.ledger.entries import Domain, Entry
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.reports import Change, Power, Reason
from crofter.drivers.hypervisor.specs import DomainRef

TOPIC = "hypervisor"
"""Signalled when a machine went on or off by itself."""


class ChangeRow(Row):
    id: int
    domain: int
    host: int
    power: Power
    reason: Reason | None
    at: int


_changes = tables.change.c
_AFTER = query(
    select(*_changes).where(_changes.id > bindparam("after")).order_by(_changes.id).limit(bindparam("most")),
    ChangeRow,
)


def tell(ledger: Ledger, entry: Entry[Domain], doc: Domain) -> None:
    """Record that the machine is on or off, with the reason, even if the state is unchanged."""
    ledger.db.insert(
        tables.change,
        domain=entry.id,
        host=entry.host,
        power="on" if doc.on else "off",
        reason=doc.reason,
        at=ledger.now,
    )
    ledger.db.signal(TOPIC)


def after(ledger: Ledger, number: int, limit: int) -> tuple[Change, ...]:
    rows = ledger.db.all(_AFTER, after=number, most=limit)
    return tuple(Change(row.id, DomainRef(row.host, row.domain), row.power, row.reason, row.at) for row in rows)
