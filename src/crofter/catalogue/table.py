"""Description of one kind of catalogue entry: its file, and the table that the file fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from crofter.db import Row
from crofter.db.sql import Table

Text = Annotated[str, Meta(min_length=1, max_length=128)]
TomlMoment = Annotated[datetime, Meta(tz=False)]
"""A date-time in UTC, without a zone: ``2022-03-14T00:00:00``."""


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of a catalogue file. Subclasses add the fields of their kind."""

    id: str


class Offered(Row):
    """A row of a table that the catalogue fills; the place is null once its entry is gone from the file.

    Such a row stays, since objects that were made while it was offered still need it.
    """

    position: int | None

    @property
    def offered(self) -> bool:
        return self.position is not None


def _nothing(_entries: Sequence[Any]) -> Iterable[str]:
    return ()


class CatalogueTable(Struct, frozen=True):
    name: str
    """``types``: the file is types.toml, and each entry in it stands under ``[[types]]``."""
    entry: type[Entry]
    table: Table
    columns: Callable[[Any], dict[str, Any]]
    """An entry as columns of the table, without its id and its place."""
    slug: str = "slug"
    """The column of the id."""
    order: Callable[[Any], Any] | None = None
    """Sort key of the entries. Default: the order of the file."""
    problems: Callable[[Sequence[Any]], Iterable[str]] = _nothing
    """Check of all entries together; returns the problems."""
    may_be_empty: bool = False
    """True if the file may be empty."""

    @property
    def file(self) -> str:
        return f"{self.name}.toml"


def written(moment: datetime | None) -> str | None:
    """A moment of a file as the interface writes it."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S")
