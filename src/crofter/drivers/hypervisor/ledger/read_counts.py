"""Work that lasts until its object was read so often, however long that takes."""

from __future__ import annotations

from typing import Any

from crofter.db import Row, Session, query
from crofter.db.sql import bindparam, delete, exists, select, text, update
from crofter.drivers.hypervisor.ledger import tables

UNTIL_READ = 253_402_300_799_999
"""End of work that waits for reads: later than any service time."""

_counts, _work, _entries = tables.read_count.c, tables.work.c, tables.thing.c


class ReadCount(Row):
    reads_left: int
    released: bool


class Held(Row):
    """A thing whose work waits to be read."""

    kind: str
    id: int
    doc: Any
    becomes: Any


_ONE = query(
    select(_counts.reads_left, _counts.released).where(_counts.operation == bindparam("operation")).with_for_update(),
    ReadCount,
)
# A read may be counted at the moment at which the work begins, and both write this row.
_BEGIN = query(
    text(
        "INSERT INTO hypervisor_read_count (operation, reads_left) VALUES (:operation, :reads_left)"
        " ON CONFLICT (operation) DO NOTHING"
    )
)
_WAITING = query(select(_counts.operation).where(~_counts.released).order_by(_counts.operation), int)
_ENTRIES = query(
    select(_entries.kind, _entries.id, _entries.doc, _entries.becomes).where(
        _entries.operation == bindparam("operation"), _entries.due == UNTIL_READ
    ),
    Held,
)
_END_WORK = query(
    update(tables.work)
    .where(_work.operation == bindparam("served"), _work.ends == UNTIL_READ)
    .values(ends=bindparam("now"))
)
FORGET_RELEASED = query(
    delete(tables.read_count).where(_counts.released, ~exists().where(_work.operation == _counts.operation))
)


def begun(db: Session, operation: int, reads: int) -> ReadCount:
    """How often the operation's object is still to be read, from now on counted."""
    db.run(_BEGIN, operation=operation, reads_left=reads)
    return db.one(_ONE, operation=operation)


def known(db: Session, operation: int) -> ReadCount | None:
    return db.maybe(_ONE, operation=operation)


def count_one(db: Session, operation: int, count: ReadCount) -> None:
    db.update(tables.read_count, {"operation": operation}, reads_left=count.reads_left - 1)


def waiting(db: Session) -> list[int]:
    """Operations whose work still waits for reads."""
    return db.all(_WAITING)


def release(db: Session, operation: int, now: int) -> None:
    """End the work now; later work of the operation takes no time."""
    db.update(tables.read_count, {"operation": operation}, released=True)
    db.run(_END_WORK, served=operation, now=now)
    for entry in db.all(_ENTRIES, operation=operation):
        values = {"due": now, "doc": _dated(entry.doc, now), "becomes": _dated(entry.becomes, now)}
        db.update(tables.thing, {"kind": entry.kind, "id": entry.id}, **values)


def _dated(part: Any, now: int) -> Any:
    """With the true moment wherever the end of the work was noted down."""
    if isinstance(part, dict):
        return {name: _dated(value, now) for name, value in part.items()}
    if isinstance(part, list):
        return [_dated(value, now) for value in part]
    return now if part == UNTIL_READ else part
