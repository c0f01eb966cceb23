"""From the files of the catalogue into the tables that endpoints and rules look things up in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Table, bindparam, insert, select, update

from crofter.catalogue import files
from crofter.catalogue.table import CatalogueTable, Entry
from crofter.db import Query, Session, query

AT_ONCE = 100
"""Rows that one statement inserts."""


def load(db: Session, targets: Sequence[CatalogueTable], folder: str | None) -> None:
    """Make the tables what the files say. Nothing is written unless all of them can be used."""
    for target, entries in zip(targets, files.read(targets, folder), strict=True):
        _fill(db, target, entries)


def _fill(db: Session, target: CatalogueTable, entries: Sequence[Entry]) -> None:
    """What is no longer in the file loses its place and is offered no more; what else a row holds outlives a start."""
    known = set(db.column(_slugs(target.table, target.slug)))
    if known:
        db.run(_unplaced(target.table))  # also frees the places, since no two rows may share one
    new: list[dict[str, Any]] = []
    for position, entry in enumerate(entries, 1):
        values = {"position": position, **target.columns(entry)}
        if entry.id in known:
            db.update(target.table, {target.slug: entry.id}, **values)
        else:
            new.append({target.slug: entry.id, **values})
    for first in range(0, len(new), AT_ONCE):
        _insert(db, target.table, new[first : first + AT_ONCE])


def _insert(db: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    values = {f"{name}_{number}": value for number, row in enumerate(rows) for name, value in row.items()}
    db.run(_inserted(table, tuple(rows[0]), len(rows)), **values)


@lru_cache
def _inserted(table: Table, names: tuple[str, ...], count: int) -> Query[None]:
    row = {name: table.c[name].type for name in names}
    return query(
        insert(table).values(
            [{name: bindparam(f"{name}_{number}", type_=kind) for name, kind in row.items()} for number in range(count)]
        )
    )


@lru_cache
def _slugs(table: Table, slug: str) -> Query[str]:
    return query(select(table.c[slug]).where(table.c[slug].is_not(None)))


@lru_cache
def _unplaced(table: Table) -> Query[None]:
    return query(update(table).where(table.c.position.is_not(None)).values(position=None))
