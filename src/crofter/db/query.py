"""Statements that are named once: SQLAlchemy Core writes the SQL for each database, the driver runs it.

Going to the driver directly costs a third of what Core's own execution costs per row, and keeps what
Core is good at: one description of a statement that is right on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar, overload

import msgspec

from crofter.db import known_statements
from crofter.db.known_statements import DOCUMENT, Statement

R = TypeVar("R")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _to_document(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


def _from_document(value: str | None) -> Any:
    return None if value is None else _decode(value)


def _to_flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


class Compiled:
    """A statement compiled for one database, ready for values."""

    __slots__ = ("_arranged", "binds", "defaults", "key", "results", "sql")

    def __init__(self, statement: Statement) -> None:
        self.sql = statement.sql
        self.key = hashlib.blake2b(statement.sql.encode(), digest_size=16).digest()
        """Stands for the statement where its whole text would take long to hash each time."""
        self._arranged = _arranging(statement.order)
        self.defaults = statement.defaults
        self.binds = [(name, _to_document) for name in statement.documents]
        self.results = [(place, _from_document if kind == DOCUMENT else _to_flag) for place, kind in statement.results]

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


class Query(Generic[R]):
    """A statement with the struct of its rows."""

    __slots__ = ("__weakref__", "_compiled", "row_type", "statement")

    def __init__(self, statement: Any, row_type: Callable[..., R] | None) -> None:
        self.statement = statement
        self.row_type = row_type
        self._compiled: dict[str, Compiled] = {}

    def compiled(self, dialect: str) -> Compiled:
        compiled = self._compiled.get(dialect)
        if compiled is None:
            statement = known_statements.lookup(self.statement, dialect) or self.compile(dialect)
            compiled = self._compiled[dialect] = Compiled(statement)
        return compiled

    def compile(self, dialect: str) -> Statement:
        """Have SQLAlchemy write it; a mistake in it is found here."""
        from crofter.db import compiling  # noqa: PLC0415 - loads SQLAlchemy

        return compiling.compiled(self.statement, dialect, getattr(self.row_type, "__struct_fields__", None))


@overload
def query(statement: Any) -> Query[Any]: ...
@overload
def query(statement: Any, into: Callable[..., R]) -> Query[R]: ...
def query(statement: Any, into: Callable[..., Any] | None = None) -> Query[Any]:
    return Query(statement, into)
