"""From the files of the catalogue into the tables that endpoints and rules look things up in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from crofter.catalogue import files
from crofter.catalogue.table import CatalogueTable, Entry
from crofter.db import Query, Session, query
from crofter.db.sql import ColumnElement, Table, select, update

AT_ONCE = 100
"""Maximum number of rows of one insert statement."""


def load(db: Session, targets: Sequence[CatalogueTable], folder: str | None) -> None:
    """Make the tables what the files say. Nothing is written unless all of them can be used."""
    for target, entries in zip(targets, files.read(targets, folder), strict=True):
        _fill(db, target, entries)


def _fill(db: Session, target: CatalogueTable, entries: Sequence[Entry]) -> None:
    """Update the table from the entries. A row without an entry is no longer offered, but is kept."""
    rows = [dict(zip(target.table.c.keys(), row, strict=True)) for row in db.all(known_rows(target.table, target.slug))]
    known = {row[target.slug]: row for row in rows}
    wanted = {entry.id: {"position": place, **target.columns(entry)} for place, entry in enumerate(entries, 1)}
    offered = {slug for slug, row in known.items() if row["position"] is not None}
    if offered == wanted.keys() and all(_holds(known[slug], values) for slug, values in wanted.items()):
        return  # usual case: the file is unchanged
    if known:
        db.run(unplaced(target.table))  # also frees the places, since no two rows may share one
    new: list[dict[str, Any]] = []
    for slug, values in wanted.items():
        if slug in known:
            db.update(target.table, {target.slug: slug}, **values)
        else:
            new.append({target.slug: slug, **values})
    for first in range(0, len(new), AT_ONCE):
        db.insert_rows(target.table, new[first : first + AT_ONCE])


def _holds(row: dict[str, Any], values: dict[str, Any]) -> bool:
    return all(row[name] == value for name, value in values.items())


@lru_cache
def known_rows(table: Table, slug: str) -> Query[tuple[Any, ...]]:
    return query(select(table).where(table.c[slug].is_not(None)), lambda *values: values)


@lru_cache
def unplaced(table: Table) -> Query[None]:
    return query(update(table).where(is_offered(table)).values(position=None))


def is_offered(table: Table) -> ColumnElement[bool]:
    return table.c.position.is_not(None)
