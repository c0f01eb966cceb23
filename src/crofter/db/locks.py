"""Locks on accounts, and on what belongs to none, taken like the lock of one."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from sqlalchemy import Boolean, ColumnElement
from sqlalchemy.ext.compiler import compiles

ACCOUNTS = 1
"""The class of PostgreSQL's advisory locks that hold accounts."""


class try_lock_account(ColumnElement[bool]):  # noqa: N801 - reads as a word of SQL
    """Hold the account of a row until the transaction ends, if nobody else does; whether it is held. Never waits."""

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.column = column

    @property
    def _from_objects(self) -> Any:
        return self.column._from_objects


@compiles(try_lock_account, "sqlite")
def _alone(element: try_lock_account, compiler: Any, **_kw: Any) -> str:
    return "1"  # there is one writer


@compiles(try_lock_account, "postgresql")
def _try(element: try_lock_account, compiler: Any, **kw: Any) -> str:
    column = compiler.process(element.column, **kw)
    return f"pg_try_advisory_xact_lock({ACCOUNTS}, CAST({column} AS INTEGER))"


class Lock(IntEnum):
    """Numbers that no account has, so that one class of advisory locks serves both."""

    SYSTEM = 0
    """First start, keys, catalogue: one process at a time changes them."""
    ADDRESS_POOLS = -1
    MONITORING = -2
