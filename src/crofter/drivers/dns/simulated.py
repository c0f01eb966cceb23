"""Simulated name servers: zones are stored in a table, where tests and sandboxes can read them."""

from __future__ import annotations

from crofter.db import Database, Id, Json, Row, Session, query, table
from crofter.db.sql import Column, Text, bindparam, select
from crofter.drivers.dns.contract import Zone

zone = table(
    "simulated_zone",
    Column("name", Text, primary_key=True),
    Column("serial", Id, nullable=False),
    Column("lines", Text, nullable=False),
    Column("masters", Json, nullable=False),
    Column("transfers", Json, nullable=False),
)


class _Kept(Row):
    name: str
    serial: int
    lines: str
    masters: list[str]
    transfers: list[str]


_NAMES = query(select(zone.c.name).order_by(zone.c.name).limit(bindparam("most")))
_ONE = select(*(zone.c[name] for name in _Kept.__struct_fields__)).where(zone.c.name == bindparam("name"))
_LOOK = query(_ONE, _Kept)
_HELD = query(_ONE.with_for_update(), _Kept)


class SimulatedNameServer:
    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, zone: Zone) -> None:
        with self._database.write() as db:
            _keep(db, zone)

    def withdraw(self, name: str) -> None:
        with self._database.write() as db:
            db.delete(zone, name=name)

    def published(self, name: str) -> Zone | None:
        with self._database.read() as db:
            kept = db.maybe(_LOOK, name=name)
        if kept is None:
            return None
        lines = tuple(kept.lines.split("\n")) if kept.lines else ()
        return Zone(kept.name, kept.serial, lines, tuple(kept.masters), tuple(kept.transfers))

    def names(self, most: int = 1000) -> list[str]:
        """The first zones that are served, in the order of their names."""
        with self._database.read() as db:
            return db.column(_NAMES, most=most)


def _keep(db: Session, new: Zone) -> None:
    values = {
        "serial": new.serial,
        "lines": "\n".join(new.lines),
        "masters": list(new.masters),
        "transfers": list(new.transfers),
    }
    kept = db.maybe(_HELD, name=new.name)
    if kept is None:
        db.insert(zone, name=new.name, **values)
    elif kept.serial < new.serial:
        db.update(zone, {"name": new.name}, **values)
