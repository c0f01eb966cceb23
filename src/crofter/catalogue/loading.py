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
"""Rows that one statement inserts."""


def load(db: Session, targets: Sequence[CatalogueTable], folder: str | None) -> None:
    """Make the tables what the files say. Nothing is written unless all of them can be used."""
    for target, entries in zip(targets, files.read(targets, folder), strict=True):
        _fill(db, target, entries)


def _fill(db: Session, target: CatalogueTable, entries: Sequence[Entry]) -> None:
    """What is no longer in the file loses its place and is offered no more; what else a row holds outlives a start."""
    known = set(db.column(slugs(target.table, target.slug)))
    if known:
        db.run(unplaced(target.table))  # also frees the places, since no two rows may share one
    new: list[dict[str, Any]] = []
    for position, entry in enumerate(entries, 1):
        values = {"position": position, **target.columns(entry)}
        if entry.id in known:
            db.update(target.table, {target.slug: entry.id}, **values)
        else:
            new.append({target.slug: entry.id, **values})
    for first in range(0, len(new), AT_ONCE):
        db.insert_rows(target.table, new[first : first + AT_ONCE])


@lru_cache
def slugs(table: Table, slug: str) -> Query[str]:
    return query(select(table.c[slug]).where(table.c[slug].is_not(None)))


@lru_cache
def unplaced(table: Table) -> Query[None]:
    return query(update(table).where(is_offered(table)).values(position=None))


def is_offered(table: Table) -> ColumnElement[bool]:
    return table.c.position.is_not(None)
