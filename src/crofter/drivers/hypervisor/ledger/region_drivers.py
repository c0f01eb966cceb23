"""The driver that each region had at the last start. A region with anything in it keeps its driver."""

from __future__ import annotations

from collections.abc import Mapping, Set

from crofter.db import Database, Session, meta, query
from crofter.db.sql import bindparam, func, select
from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.ledger.entries import Wiring
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.ledger.tables import thing

KEY = "region_drivers"
_THERE = query(
    select(func.count()).where(
        thing.c.host.between(bindparam("first"), bindparam("last")),
        thing.c.doc.is_not(None),
        thing.c.kind != Wiring.kind,
    )
)


def keep(database: Database, drivers: Mapping[str, str], with_hosts: Set[str]) -> None:
    """Remember the driver of each region; DriverError if a region with things in it would get another one.

    ``with_hosts`` are the regions of real hosts. They had the libvirt driver if no driver was remembered yet. Any other
    region had its present one then: an earlier release could remove the last host and leave things in the ledger.
    """
    with database.write() as db:
        before = meta.get(db, KEY)
        for region, driver in drivers.items():
            unknown = "libvirt" if before is None and region in with_hosts else driver
            former = (before or {}).get(region, unknown)
            if former != driver and (number := things_in(db, region)):
                raise DriverError(
                    f"region {region} has {number} things (machines, disks, volumes, ...) of the driver {former}, "
                    f"which the driver {driver} cannot reach: delete them first, or give the region its driver back"
                )
        if before != {**(before or {}), **drivers}:
            meta.put(db, KEY, {**(before or {}), **drivers})


def things_in(db: Session, region: str) -> int:
    first = code_of(region) * BLOCK
    return int(db.value(_THERE, first=first, last=first + BLOCK - 1))
