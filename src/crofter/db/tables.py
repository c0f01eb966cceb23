"""The habits of every table: column types that mean the same on both databases."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

INSERTED = "inserted"
"""What a table's ``info`` has under this name is told of each new row: the session, its values, its number."""

# SQLite's STRICT tables know INTEGER, REAL, TEXT and BLOB, hence the variants.
Id = BigInteger().with_variant(Integer(), "sqlite")
Time = BigInteger().with_variant(Integer(), "sqlite")
"""Milliseconds, for the engine's own arithmetic."""
Flag = Boolean(create_constraint=False).with_variant(Integer(), "sqlite")


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


class Row(msgspec.Struct, gc=False):
    """A row as code sees it: fields in the order of the columns that were selected."""


def identity() -> Column[Any]:
    """The id of a row: increasing, and never given out twice."""
    return Column("id", Id, Identity(), primary_key=True)


def owned(*, index: bool = False) -> Column[Any]:
    """The account a row belongs to."""
    return Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=index)


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index on the few rows that are asked for."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where))


@compiles(CreateIndex, "postgresql")
def _create_index(create: Any, compiler: Any, **kw: Any) -> str:
    """Partial on PostgreSQL too. Said only here: a table that names PostgreSQL would load all of its dialect."""
    options = create.element.dialect_options
    options["postgresql"]["where"] = options["sqlite"]["where"]
    return str(compiler.visit_create_index(create, **kw))


def table(name: str, *parts: Any, sqlite_without_rowid: bool = False) -> Table:
    """A table of the server: STRICT on SQLite, ids never reused."""
    ids = any(isinstance(part, Column) and part.identity is not None for part in parts)
    return Table(
        name,
        metadata,
        *parts,
        sqlite_strict=True,
        sqlite_autoincrement=ids,
        sqlite_with_rowid=not sqlite_without_rowid,
    )
