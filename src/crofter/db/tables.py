"""The habits of every table: column types that mean the same on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, cast

import msgspec

from crofter.db.deferred import Deferred, digest, evaluate, is_call_of, named_of, values_of
from crofter.db.sql import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Json,
    MetaData,
    PrimaryKeyConstraint,
    Sealed,
    Table,
    event,
    text,
)

INSERTED = "inserted"
"""Key in a table's ``info``: a function called with the session, values and id of each new row."""

# SQLite's STRICT tables know INTEGER, REAL, TEXT and BLOB, hence the variants.
Id = BigInteger().with_variant(Integer(), "sqlite")
Time = BigInteger().with_variant(Integer(), "sqlite")
"""Milliseconds, for the engine's own arithmetic."""
Flag = Boolean(create_constraint=False).with_variant(Integer(), "sqlite")


class Row(msgspec.Struct, gc=False):
    """A row as code sees it: fields in the order of the columns that were selected."""


class _Columns:
    """A table's columns by name, each always the same expression."""

    def __init__(self, table: DeferredTable, parts: tuple[Any, ...]) -> None:
        self._columns = {values_of(part)[0]: part for part in parts if is_call_of(part, Column)}
        self._key = [name for part in parts if is_call_of(part, PrimaryKeyConstraint) for name in values_of(part)]
        self._expressions = {name: Deferred(getattr, Deferred(getattr, table, "c"), name) for name in self._columns}

    def __getattr__(self, name: str) -> Any:
        try:
            return self._expressions[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Any:
        return self._expressions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[Any]:
        return iter(self._expressions.values())

    def keys(self) -> list[str]:
        return list(self._columns)

    def references(self) -> set[str]:
        """Return the names of the referenced tables."""
        values = [value for part in self._columns.values() for value in values_of(part)]
        return {values_of(value)[0].partition(".")[0] for value in values if is_call_of(value, ForeignKey)}

    def primary_key(self) -> list[str]:
        return [name for name, part in self._columns.items() if named_of(part).get("primary_key")] or self._key

    def documents(self) -> frozenset[str]:
        """The columns that hold JSON."""
        return frozenset(self._of_type(Json))

    def sealed(self) -> list[str]:
        """The columns that hold what the keyring has sealed."""
        return self._of_type(Sealed)

    def _of_type(self, word: Any) -> list[str]:
        return [name for name, part in self._columns.items() if is_call_of(values_of(part)[1], word)]


class DeferredTable(Deferred):
    """A table, of which name and columns are known without SQLAlchemy."""

    __slots__ = ("_digest", "_metadata", "after_create", "c", "info", "name")

    def __init__(self, name: str, parts: tuple[Any, ...], options: dict[str, Any], metadata: Any) -> None:
        super().__init__(Table, name, parts, options)
        self._metadata = metadata
        self.name = name
        self.c = _Columns(self, parts)
        self.info: dict[str, Callable[..., None]] = {}
        self.after_create: list[tuple[str, str]] = []
        """Statements to run after the table was created, each with its dialect."""
        self._digest = b""

    def _evaluated(self) -> Any:
        name, parts, options = self._parts
        table = evaluate(Table)(name, evaluate(self._metadata), *evaluate(parts), info=self.info, **options)
        for dialect, statement in self.after_create:
            evaluate(event).listen(table, "after_create", evaluate(DDL)(statement).execute_if(dialect=dialect))
        return table

    def _description(self, _seen: dict[int, int]) -> Iterator[str]:
        if not self._digest:
            self._digest = digest(self._parts)
        yield f"(table {self.name} {self._digest.hex()})"


_metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


_tables: dict[str, DeferredTable] = {}


def evaluate_all() -> None:
    """Make every table that has been named so far known to SQLAlchemy."""
    for table in list(_tables.values()):
        evaluate(table)


class _AllTables:
    """SQLAlchemy's ``MetaData`` with every table, filled on first access."""

    def __getattr__(self, name: str) -> Any:
        evaluate_all()
        return getattr(evaluate(_metadata), name)


if TYPE_CHECKING:
    metadata: MetaData
else:
    metadata = _AllTables()


def identity() -> Column[Any]:
    """The id of a row: increasing, and never given out twice."""
    return Column("id", Id, Identity(), primary_key=True)


def owned(*, index: bool = False) -> Column[Any]:
    """The account a row belongs to."""
    return Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=index)


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """Return an index on the few rows that queries select."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where))


def table(name: str, *parts: Any, sqlite_without_rowid: bool = False) -> Table:
    """A table of the server: STRICT on SQLite, ids never reused."""
    columns = [values_of(part) for part in parts if is_call_of(part, Column)]
    ids = any(is_call_of(value, Identity) for values in columns for value in values)
    options = {
        "sqlite_strict": True,
        "sqlite_autoincrement": ids,
        "sqlite_with_rowid": not sqlite_without_rowid,
    }
    _tables[name] = made = DeferredTable(name, parts, options, _metadata)
    sorted_names.cache_clear()
    return cast("Table", made)


@cache
def sorted_names() -> tuple[str, ...]:
    """Return the names of all tables, referenced tables first. Cached: sorting is slow, and each reset of a sandbox
    needs the order.
    """
    order: TopologicalSorter[str] = TopologicalSorter()
    for table in _tables.values():
        order.add(table.name, *table.c.references() - {table.name})
    return tuple(order.static_order())


def all_tables() -> list[Table]:
    """Return all tables, referenced tables first."""
    return cast("list[Table]", [_tables[name] for name in sorted_names()])


def known_columns() -> dict[str, list[str]]:
    """The columns of each table that has been named so far."""
    return {name: table.c.keys() for name, table in _tables.items()}


def schema_digest() -> bytes:
    """The same as long as all tables are."""
    return digest([_metadata, [[table, table.after_create] for _, table in sorted(_tables.items())]])


def deferred(table: Table) -> DeferredTable:
    """Return the description of a table that needs no SQLAlchemy."""
    return table if isinstance(table, DeferredTable) else _tables[table.name]
