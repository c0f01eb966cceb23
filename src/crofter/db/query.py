"""Statements built once at import: Core writes the SQL for each database, the driver runs it.

Going to the driver directly costs a third of what Core's own execution costs per row, and keeps what
Core is good at: one description of a statement that is right on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Generic, TypeVar, overload

import msgspec
from sqlalchemy import Boolean, ColumnElement, Table, Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, Insert, Select

from crofter.db.tables import INSERTED, Json

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _to_document(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


def _from_document(value: str | None) -> Any:
    return None if value is None else _decode(value)


def _to_flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


@cache
def dialect_of(name: str) -> Any:
    """One database's words, learnt when the first statement is put into them: a server speaks one of the two."""
    if name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415

        return sqlite.dialect(paramstyle="qmark")
    from sqlalchemy.dialects.postgresql import psycopg  # noqa: PLC0415

    return psycopg.dialect()  # type: ignore[no-untyped-call]


class Compiled:
    """A statement in one database's words, with what its values need on the way in and out."""

    __slots__ = ("_arranged", "binds", "defaults", "key", "results", "sql")

    def __init__(self, statement: ClauseElement, dialect: str) -> None:
        compiled: Any = statement.compile(dialect=dialect_of(dialect))
        sql, values = compiled.string, compiled.params
        order: list[str] | None = compiled.positiontup
        required = {name for name, bind in compiled.binds.items() if bind.required}
        if "POSTCOMPILE" in sql:  # a fixed list after IN is written out once, here
            expanded = compiled.construct_expanded_state(dict.fromkeys(required))
            sql, values, order = expanded.statement, expanded.parameters, expanded.positiontup
        self.sql: str = sql
        self.key = hashlib.blake2b(sql.encode(), digest_size=16).digest()
        """Stands for the statement where its whole text would take long to hash each time."""
        self._arranged = _arranging(order)
        self.defaults: dict[str, Any] = {name: value for name, value in values.items() if name not in required}
        self.binds: list[tuple[str, Callable[[Any], Any]]] = [
            (name, _to_document) for name, bind in compiled.binds.items() if isinstance(bind.type, Json)
        ]
        self.results: list[tuple[int, Callable[[Any], Any]]] = []
        for position, column in enumerate(_columns(statement)):
            if isinstance(column.type, Json):
                self.results.append((position, _from_document))
            elif isinstance(column.type, Boolean) and dialect == "sqlite":
                self.results.append((position, _to_flag))

    def values(self, given: Mapping[str, Any]) -> Mapping[str, Any] | tuple[Any, ...]:
        values = given
        if self.defaults or self.binds:
            values = {**self.defaults, **given}
            for name, convert in self.binds:
                if name in values:
                    values[name] = convert(values[name])
        return self._arranged(values)

    def row(self, raw: tuple[Any, ...]) -> tuple[Any, ...] | list[Any]:
        if not self.results:
            return raw
        row = list(raw)
        for position, convert in self.results:
            row[position] = convert(row[position])
        return row


def _arranging(order: Sequence[str] | None) -> Callable[[Mapping[str, Any]], Mapping[str, Any] | tuple[Any, ...]]:
    """Puts values one after another, where a database takes them so: SQLite takes them faster."""
    if order is None:
        return lambda values: values
    if len(order) > 1:
        return itemgetter(*order)
    return lambda values: tuple(values[name] for name in order)


def _columns(statement: Any) -> list[Any]:
    if isinstance(statement, Select) or hasattr(statement, "selected_columns"):
        return list(statement.selected_columns)
    return list(getattr(statement, "_returning", ()))


class Query(Generic[R]):
    """A statement, and the struct that its rows become."""

    __slots__ = ("_compiled", "row_type", "statement")

    def __init__(self, statement: ClauseElement, row_type: Callable[..., R] | None) -> None:
        if isinstance(statement, Insert) and isinstance(statement.table, Table) and INSERTED in statement.table.info:
            raise TypeError(f"rows of {statement.table.name} are counted: they come in by Session.insert")
        self.statement = statement
        self.row_type = row_type
        self._compiled: dict[str, Compiled] = {}
        fields = getattr(row_type, "__struct_fields__", None)
        if fields is not None:
            names = tuple(column.name for column in _columns(statement))
            if names != fields:
                raise TypeError(f"{row_type}: fields {fields} are not the selected columns {names}")

    def compiled(self, dialect: str) -> Compiled:
        compiled = self._compiled.get(dialect)
        if compiled is None:
            compiled = self._compiled[dialect] = Compiled(self.statement, dialect)
        return compiled


@overload
def query(statement: Any) -> Query[Any]: ...
@overload
def query(statement: Any, into: Callable[..., R]) -> Query[R]: ...
def query(statement: Any, into: Callable[..., Any] | None = None) -> Query[Any]:
    return Query(statement, into)


class _List(Json):
    """A list bound as one value: a JSON array, taken apart again by the database."""

    cache_ok = True


class among(ColumnElement[bool]):  # noqa: N801 - reads as a word of SQL
    """``column`` is one of the values of a list bound under ``name``; the list may be of any length."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        self.column = column
        self.list = bindparam(name, type_=_List())

    @property
    def _from_objects(self) -> Any:
        """So that a statement knows its table by this condition alone."""
        return self.column._from_objects


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: Any, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    return f"{column} IN (SELECT value FROM json_each({compiler.process(element.list, **kw)}))"


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: Any, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    cast = "TEXT" if isinstance(element.column.type, Text) else "BIGINT"
    array = compiler.process(element.list, **kw)
    return f"{column} IN (SELECT CAST(value AS {cast}) FROM json_array_elements_text(CAST({array} AS json)))"


class unindexed(ColumnElement[Any]):  # noqa: N801 - reads as a word of SQL
    """A column that SQLite must not look for an index on, since another one gives the wanted order."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.column = column
        self.type = column.type


@compiles(unindexed)
def _unindexed(element: unindexed, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.column, **kw))  # PostgreSQL knows its rows well enough to choose


@compiles(unindexed, "sqlite")
def _unindexed_sqlite(element: unindexed, compiler: Any, **kw: Any) -> str:
    return f"+{compiler.process(element.column, **kw)}"


class json_list(ColumnElement[str]):  # noqa: N801 - reads as a word of SQL
    """All that a select of one column finds, as one value: a JSON array, in the order of the select."""

    inherit_cache = True
    type = Text()

    def __init__(self, select: Select[Any]) -> None:
        self.select = select

    @property
    def _from_objects(self) -> Any:
        """What is looked through inside is nothing to the statement around it."""
        return []


@compiles(json_list, "sqlite")
def _json_list_sqlite(element: json_list, compiler: Any, **_kw: Any) -> str:
    (column,) = element.select.selected_columns
    return f"(SELECT json_group_array({column.name}) FROM ({compiler.process(element.select)}))"


@compiles(json_list, "postgresql")
def _json_list_postgresql(element: json_list, compiler: Any, **_kw: Any) -> str:
    return f"CAST(array_to_json(ARRAY({compiler.process(element.select)})) AS TEXT)"
