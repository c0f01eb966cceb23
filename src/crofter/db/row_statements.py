"""Statements on the rows of one table, by the columns that are named: so simple that they are written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from crofter.db.known_statements import Statement
from crofter.db.query import Compiled
from crofter.db.sql import Table
from crofter.db.tables import INSERTED, deferred


@lru_cache(maxsize=1024)
def insert(
    into: Table, names: tuple[str, ...], dialect: str, *, asks: bool = True
) -> tuple[Compiled, bool, Callable[[Any, dict[str, Any], int], None] | None]:
    """Return the insert statement, whether rows have ids, and the function that receives inserted rows."""
    table = deferred(into)
    numbered = "id" in table.c
    values = f"({_list(names)}) VALUES ({', '.join(_place(name, dialect) for name in names)})"
    sql = f"INSERT INTO {_quoted(table.name)} {values if names else 'DEFAULT VALUES'}"
    # SQLite knows the last id without RETURNING, which would cost time.
    if asks and numbered and dialect != "sqlite":
        sql += ' RETURNING "id"'
    return _compiled(table, sql, names, (), dialect), numbered, table.info.get(INSERTED)


@lru_cache(maxsize=64)
def insert_rows(into: Table, names: tuple[str, ...], count: int, dialect: str) -> Compiled:
    """Inserts so many rows at once, whose values are named ``column_0``, ``column_1`` and so on."""
    table = deferred(into)
    if INSERTED in table.info:
        raise TypeError(f"rows of {table.name} are counted: they come in by Session.insert")
    rows = [[f"{name}_{number}" for name in names] for number in range(count)]
    values = ", ".join(f"({', '.join(_place(name, dialect) for name in row)})" for row in rows)
    documents = [f"{name}_{number}" for name in names if name in table.c.documents() for number in range(count)]
    sql = f"INSERT INTO {_quoted(table.name)} ({_list(names)}) VALUES {values}"
    order = [name for row in rows for name in row] if dialect == "sqlite" else None
    return Compiled(Statement(sql, order, {}, documents, []))


@lru_cache(maxsize=1024)
def update(changed: Table, where: tuple[str, ...], names: tuple[str, ...], dialect: str) -> Compiled:
    """Sets columns on the rows whose columns equal values named ``old_...``."""
    table = deferred(changed)
    changes = ", ".join(f"{_quoted(name)} = {_place(name, dialect)}" for name in names)
    sql = f"UPDATE {_quoted(table.name)} SET {changes}{_where(where, dialect)}"
    return _compiled(table, sql, names, where, dialect)


@lru_cache(maxsize=1024)
def delete(source: Table, where: tuple[str, ...], dialect: str) -> Compiled:
    table = deferred(source)
    return _compiled(table, f"DELETE FROM {_quoted(table.name)}{_where(where, dialect)}", (), where, dialect)


def _compiled(table: Any, sql: str, names: tuple[str, ...], where: tuple[str, ...], dialect: str) -> Compiled:
    unknown = [name for name in (*names, *where) if name not in table.c]
    if unknown:
        raise TypeError(f"{table.name} has no columns {unknown}")
    documents = table.c.documents()
    as_json = [name for name in names if name in documents] + [f"old_{name}" for name in where if name in documents]
    order = [*names, *(f"old_{name}" for name in where)]
    return Compiled(Statement(sql, order if dialect == "sqlite" else None, {}, as_json, []))


def _where(names: tuple[str, ...], dialect: str) -> str:
    conditions = " AND ".join(f"{_quoted(name)} = {_place(f'old_{name}', dialect)}" for name in names)
    return f" WHERE {conditions}" if names else ""


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    return f'"{name}"'


def _place(name: str, dialect: str) -> str:
    return "?" if dialect == "sqlite" else f"%({name})s"
