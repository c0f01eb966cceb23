"""From the files of the catalogue into the tables that endpoints and rules look things up in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import Table, select, update

from crofter.catalogue import files
from crofter.catalogue.shelf import Entry, Shelf
from crofter.db import Query, Session, query


def load(db: Session, shelves: Sequence[Shelf], folder: str | None) -> None:
    """Make the tables what the files say. Nothing is written unless all of them can be used."""
    for shelf, entries in zip(shelves, files.read(shelves, folder), strict=True):
        _fill(db, shelf, entries)


def _fill(db: Session, shelf: Shelf, entries: Sequence[Entry]) -> None:
    """What is no longer in the file loses its place and is offered no more; what else a row holds outlives a start."""
    known = set(db.column(_slugs(shelf.table, shelf.slug)))
    if known:
        db.run(_unplaced(shelf.table))  # also frees the places, since no two rows may share one
    for position, entry in enumerate(entries, 1):
        values = {"position": position, **shelf.columns(entry)}
        if entry.id in known:
            db.update(shelf.table, {shelf.slug: entry.id}, **values)
        else:
            db.insert(shelf.table, **{shelf.slug: entry.id}, **values)


@lru_cache
def _slugs(table: Table, slug: str) -> Query[str]:
    return query(select(table.c[slug]).where(table.c[slug].is_not(None)))


@lru_cache
def _unplaced(table: Table) -> Query[None]:
    return query(update(table).where(table.c.position.is_not(None)).values(position=None))
