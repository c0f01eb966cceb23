"""The schema: made whole on an empty database, moved forward on an old one, refused on a newer one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from crofter.db import known_statements
from crofter.db.database import Database
from crofter.db.session import Session
from crofter.db.tables import known_columns, sorted_names
from crofter.errors import Unavailable

log = logging.getLogger("crofter")

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 8420
"""The advisory lock that lets one process at a time change a schema."""
REVISION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"


COLUMNS = {
    "sqlite": "SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'",
    "postgresql": "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
    " AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relkind = 'r'"
    " AND c.relnamespace = current_schema()::regnamespace",
}
"""Table and column of everything in the database."""
_NAMED = 3
"""How many missing tables and columns a message lists."""


class SchemaError(Exception):
    """The database cannot be used by this release. The text says why."""


def known_revisions() -> list[str]:
    return sorted(path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def is_ready(database: Database) -> bool:
    """True if the schema is this release's. Compares the tables that this process has imported with the database's."""
    try:
        with database.read() as db:
            if not _has_revision(db):
                return False
            stored = [str(row[0]) for row in db.raw("SELECT version_num FROM alembic_version").fetchall()]
            if stored != [known_revisions()[-1]]:
                return False
            must_fit(stored[0], db.raw(COLUMNS[database.dialect]).fetchall(), known_columns())
            return True
    except Unavailable:
        return False  # the caller that prepares the schema reports the reason


def must_fit(revision: str, stored: Iterable[Iterable[object]], expected: Mapping[str, Iterable[str]]) -> None:
    """Raise SchemaError if the database lacks a table or a column of the schema that it claims to have."""
    if lacking := missing(stored, expected):
        raise SchemaError(
            f"the database has schema {revision} but lacks {lacking}: it was not written by a release. "
            "Restore a backup of a release, or start with an empty database"
        )


def missing(stored: Iterable[Iterable[object]], expected: Mapping[str, Iterable[str]]) -> str:
    """Name the tables and columns that a database lacks, in words; empty if it has all of them."""
    there: dict[str, set[str]] = {}
    for table, column in stored:
        there.setdefault(str(table), set()).add(str(column))
    lacking = [f"the table {name}" for name in sorted(expected) if name not in there]
    for name, columns in sorted(expected.items()):
        if name in there:
            lacking += [f"the column {name}.{column}" for column in columns if column not in there[name]]
    more = len(lacking) - _NAMED
    return ", ".join(lacking[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _has_revision(db: Session) -> bool:
    places = "pg_tables WHERE schemaname = current_schema() AND tablename"
    if db.dialect == "sqlite":
        places = "sqlite_master WHERE name"
    return bool(db.raw(f"SELECT 1 FROM {places} = 'alembic_version'").fetchall())


def make(database: Database) -> bool:
    """Make the whole schema on an empty database, if what it takes is written down; whether that was done."""
    statements = known_statements.schema(database.dialect)
    if not statements:
        return False
    try:
        with database.write() as db:
            if db.dialect == "postgresql":
                db.raw(f"SELECT pg_advisory_xact_lock({LOCK})")
            if _has_revision(db):
                return False
            for statement in (
                *statements,
                REVISION_TABLE,
                f"INSERT INTO alembic_version VALUES ('{known_revisions()[-1]}')",
            ):
                db.raw(statement)
    except Exception:
        log.debug("the schema is made by SQLAlchemy, which will say what is wrong", exc_info=True)
        return False
    return True


def empty(database: Database) -> None:
    """Remove every row and start every id from one again; the schema stays."""
    tables = sorted_names()[::-1]
    filled = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
    with database.write() as db:
        # Few tables have rows, and to empty one costs more than to ask.
        names = {row[0] for row in db.raw(filled).fetchall()} | {"tally"}
        for name in tables:
            if name in names:
                db.raw(f"DELETE FROM {name}")
        db.raw("DELETE FROM tally")  # last, since the others count themselves out
        if database.dialect == "sqlite":
            db.raw("DELETE FROM sqlite_sequence")
            return
        used = "SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL"
        for (name,) in db.raw(used).fetchall():
            db.raw(f'ALTER SEQUENCE "{name}" RESTART')
