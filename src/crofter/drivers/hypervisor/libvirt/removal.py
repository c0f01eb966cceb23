"""Taking a host out of the fleet, with all that the ledger says of it."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.db import Database, Row, Session, query
from crofter.db.sql import bindparam, or_, select
from crofter.drivers.hypervisor.ledger.entries import Wiring
from crofter.drivers.hypervisor.ledger.tables import thing
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.specs import BackupRef, DiskRef, DomainRef, ImageRef, Ref

_REFS: tuple[type[Ref], ...] = (DomainRef, DiskRef, BackupRef, ImageRef)
PREFIXES = {kind.kind: kind.prefix for kind in _REFS}


class Thing(Row):
    kind: str
    id: int


_THERE = query(
    select(thing.c.kind, thing.c.id)
    .where(
        or_(thing.c.host == bindparam("host"), thing.c.heading == bindparam("host")),
        or_(thing.c.doc.is_not(None), thing.c.becomes.is_not(None)),
        thing.c.kind != Wiring.kind,
    )
    .order_by(thing.c.kind, thing.c.id),
    Thing,
)


def named(db: Session, host: int) -> Iterator[str]:
    """Yield the names of all that the ledger says is on this host, or on its way there."""
    for row in db.all(_THERE, host=host):
        yield f"{PREFIXES[row.kind]}{row.id}"


def remove(database: Database, host: int) -> None:
    """Delete the host, with the ledger's entries for it."""
    with database.write() as db:
        db.delete(tables.host, id=host)
        db.delete(thing, host=host)
