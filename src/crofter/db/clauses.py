"""Extensions of SQLAlchemy: types that mean the same on both databases, and clauses with one form for each."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import BigInteger, Boolean, ColumnElement, LargeBinary, Select, Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator

from crofter.db.locks import ACCOUNTS

__all__ = [
    "Json",
    "Moment",
    "Sealed",
    "among",
    "create_table",
    "greatest",
    "json_list",
    "least",
    "try_lock_account",
    "unindexed",
]

create_table = CreateTable
T = TypeVar("T")


class Moment(TypeDecorator[str]):
    """A date-time as the interface writes it. Sorts and compares as text on both databases."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        return dialect.type_descriptor(Text(collation="C") if dialect.name == "postgresql" else Text())


class Json(TypeDecorator[Any]):
    """A small document that is read and written whole."""

    impl = Text
    cache_ok = True


class Sealed(LargeBinary):
    """A value sealed by the keyring. What has this type is found when the master key changes."""


@compiles(CreateIndex, "postgresql")
def _create_index(create: Any, compiler: Any, **kw: Any) -> str:
    """Partial on PostgreSQL too. Said only here: a table that names PostgreSQL would load all of its dialect."""
    options = create.element.dialect_options
    options["postgresql"]["where"] = options["sqlite"]["where"]
    return str(compiler.visit_create_index(create, **kw))


class _List(Json):
    """A list bound as one value: a JSON array, taken apart again by the database."""

    cache_ok = True


class _OfColumn(ColumnElement[T]):
    """Something said of a column."""

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.column = column

    @property
    def _from_objects(self) -> Any:
        """Return the table, so that a statement needs no other reference to it."""
        return self.column._from_objects


class among(_OfColumn[bool]):  # noqa: N801 - reads as a word of SQL
    """``column`` is one of the values of a list bound under ``name``; the list may be of any length."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column)
        self.list = bindparam(name, type_=_List())


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


class unindexed(_OfColumn[Any]):  # noqa: N801 - reads as a word of SQL
    """A column that SQLite must not look for an index on, since another one gives the wanted order."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiles(unindexed)
def _unindexed(element: unindexed, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.column, **kw))  # PostgreSQL knows its rows well enough to choose


@compiles(unindexed, "sqlite")
def _unindexed_sqlite(element: unindexed, compiler: Any, **kw: Any) -> str:
    return f"+{compiler.process(element.column, **kw)}"


class json_list(ColumnElement[str]):  # noqa: N801 - reads as a word of SQL
    """Values of a select of a single column as a JSON array, in the order of the select."""

    inherit_cache = True
    type = Text()

    def __init__(self, select: Select[Any]) -> None:
        self.select = select

    @property
    def _from_objects(self) -> Any:
        """Return no table: the inner select is independent of the statement around it."""
        return []


@compiles(json_list, "sqlite")
def _json_list_sqlite(element: json_list, compiler: Any, **_kw: Any) -> str:
    (column,) = element.select.selected_columns
    return f"(SELECT json_group_array({column.name}) FROM ({compiler.process(element.select)}))"


@compiles(json_list, "postgresql")
def _json_list_postgresql(element: json_list, compiler: Any, **_kw: Any) -> str:
    return f"CAST(array_to_json(ARRAY({compiler.process(element.select)})) AS TEXT)"


class try_lock_account(_OfColumn[bool]):  # noqa: N801 - reads as a word of SQL
    """Lock the account of a row until the transaction ends, unless another transaction holds it. True if locked. Never
    waits.
    """

    inherit_cache = True
    type = Boolean()


@compiles(try_lock_account, "sqlite")
def _alone(element: try_lock_account, compiler: Any, **_kw: Any) -> str:
    return "1"  # there is one writer


@compiles(try_lock_account, "postgresql")
def _try(element: try_lock_account, compiler: Any, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    return f"pg_try_advisory_xact_lock({ACCOUNTS}, CAST({column} AS INTEGER))"


class least(GenericFunction[int]):  # noqa: N801 - reads as a word of SQL
    type = BigInteger()
    inherit_cache = True


class greatest(GenericFunction[int]):  # noqa: N801 - reads as a word of SQL
    type = BigInteger()
    inherit_cache = True


@compiles(least, "sqlite")
def _least_sqlite(element: least, compiler: Any, **kw: Any) -> str:
    return f"min({compiler.process(element.clauses, **kw)})"


@compiles(greatest, "sqlite")
def _greatest_sqlite(element: greatest, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"
