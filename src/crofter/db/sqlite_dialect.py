"""SQLAlchemy's engine over the one SQLite of this process, for changes of the schema.

Python brings an SQLite of its own. Two of them on one file would not see each other's locks.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import apsw
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

registry.register("sqlite.apsw", __name__, "ApswDialect")

_OPERATIONAL = "Abort Busy CantOpen Full Interrupt IO Locked Permissions Protocol ReadOnly SchemaChange SQL".split()
_NAMES = {
    **dict.fromkeys([f"{name}Error" for name in _OPERATIONAL], "OperationalError"),
    "ConstraintError": "IntegrityError",
    "CorruptError": "DatabaseError",
    "NotADBError": "DatabaseError",
}
"""Driver exceptions by SQLAlchemy's names."""


class _Cursor(apsw.Cursor):
    """Driver cursor with the attributes that SQLAlchemy needs."""

    description: Any = None

    def execute(self, statements: str, bindings: Any = (), **options: Any) -> apsw.Cursor:
        self.description = None
        self.exec_trace = _describe  # a cursor forgets its columns as soon as there are no more rows
        return super().execute(statements, bindings, **options)

    @property
    def rowcount(self) -> int:
        return self.connection.changes()

    @property
    def lastrowid(self) -> int:
        return self.connection.last_insert_rowid()


def _describe(cursor: Any, _statement: str, _bindings: Any) -> bool:
    cursor.description = [(*column, *[None] * 5) for column in cursor.get_description()] or None
    return True


def _connect(path: str) -> apsw.Connection:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(5000)
    connection.cursor_factory = _Cursor
    return connection


class ApswDialect(SQLiteDialect):
    driver = "apsw"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    dbapi_exception_translation_map = _NAMES

    @classmethod
    def import_dbapi(cls) -> Any:
        version = tuple(map(int, apsw.sqlite_lib_version().split(".")))
        return SimpleNamespace(connect=_connect, Error=apsw.Error, paramstyle="qmark", sqlite_version_info=version)

    def _get_server_version_info(self, _connection: Any) -> Any:
        return self.loaded_dbapi.sqlite_version_info

    def create_connect_args(self, url: Any) -> Any:
        return [url.database], {}

    def do_begin(self, dbapi_connection: Any) -> None:
        dbapi_connection.execute("BEGIN IMMEDIATE")

    def do_commit(self, dbapi_connection: Any) -> None:
        dbapi_connection.execute("COMMIT")

    def do_rollback(self, dbapi_connection: Any) -> None:
        if dbapi_connection.in_transaction:
            dbapi_connection.execute("ROLLBACK")
