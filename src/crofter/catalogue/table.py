"""One sort of thing that the server offers: its file of the catalogue, and the table that this is read into."""

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
    """What a file says of one thing. A subclass says what else it must say."""

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
    """What the entries are sorted by; the order of the file unless it says."""
    problems: Callable[[Sequence[Any]], Iterable[str]] = _nothing
    """What is wrong with the entries as a whole."""
    may_be_empty: bool = False
    """Whether a server can do without any: then a file without entries is no mistake."""

    @property
    def file(self) -> str:
        return f"{self.name}.toml"


def written(moment: datetime | None) -> str | None:
    """A moment of a file as the interface writes it."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S")
