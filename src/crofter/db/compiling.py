"""From SQLAlchemy's expressions to a database's words. Loads SQLAlchemy: imported where something is compiled."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Boolean, Select, Table, create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql import Insert

from crofter.db import clauses
from crofter.db.deferred import evaluate
from crofter.db.known_statements import DOCUMENT, FLAG, Statement
from crofter.db.tables import INSERTED, evaluate_all, metadata

URLS = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}


@cache
def dialect_of(name: str) -> Any:
    """Return the SQLAlchemy dialect. Loaded with the first statement: a server uses one database."""
    if name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415

        return sqlite.dialect(paramstyle="qmark")
    from sqlalchemy.dialects.postgresql import psycopg  # noqa: PLC0415

    return psycopg.dialect()  # type: ignore[no-untyped-call]


def compiled(expression: Any, dialect: str, fields: tuple[str, ...] | None) -> Statement:
    """``fields``: what its columns must be called."""
    evaluate_all()  # a join may follow a reference to any table
    statement: Any = evaluate(expression)
    if isinstance(statement, Insert) and isinstance(statement.table, Table) and INSERTED in statement.table.info:
        raise TypeError(f"rows of {statement.table.name} are counted: they come in by Session.insert")
    columns = _columns(statement)
    if fields is not None and fields != (names := tuple(column.name for column in columns)):
        raise TypeError(f"fields {fields} are not the selected columns {names}")
    compiled: Any = statement.compile(dialect=dialect_of(dialect))
    if isinstance(statement, ExecutableDDLElement):
        return Statement(str(compiled), None, {}, [], [])
    sql, values = compiled.string, compiled.params
    order: list[str] | None = compiled.positiontup
    required = {name for name, bind in compiled.binds.items() if bind.required}
    if "POSTCOMPILE" in sql:  # a fixed list after IN is written out once, here
        expanded = compiled.construct_expanded_state(dict.fromkeys(required))
        sql, values, order = expanded.statement, expanded.parameters, expanded.positiontup
    return Statement(
        sql,
        order,
        {name: value for name, value in (values or {}).items() if name not in required},
        [name for name, bind in compiled.binds.items() if isinstance(bind.type, clauses.Json)],
        [(place, kind) for place, column in enumerate(columns) if (kind := _conversion(column, dialect))],
    )


def get_ready(dialect: str) -> None:
    """Load and make all that the first statement of a process waits for."""
    evaluate_all()
    dialect_of(dialect)


def schema(dialect: str) -> list[str]:
    """Everything that makes the present schema on an empty database."""
    statements: list[str] = []

    def note(statement: Any, *_values: Any, **_options: Any) -> None:
        statements.append(" ".join(str(statement.compile(dialect=engine.dialect)).split()))

    engine = create_mock_engine(URLS[dialect], note)
    # Sort tables by name as far as foreign keys allow: otherwise the order depends on imports.
    tables = [metadata.tables[name] for name in sorted(metadata.tables)]
    metadata.create_all(engine, tables=tables, checkfirst=False)
    return statements


def _conversion(column: Any, dialect: str) -> str | None:
    if isinstance(column.type, clauses.Json):
        return DOCUMENT
    return FLAG if isinstance(column.type, Boolean) and dialect == "sqlite" else None


def _columns(statement: Any) -> list[Any]:
    if isinstance(statement, Select) or hasattr(statement, "selected_columns"):
        return list(statement.selected_columns)
    return list(getattr(statement, "_returning", ()))
