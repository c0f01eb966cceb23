"""The schema: made whole on an empty database, moved forward on an old one, refused on a newer one."""

from __future__ import annotations

import logging
from pathlib import Path

from crofter.db import known_statements
from crofter.db.database import Database
from crofter.db.session import Session
from crofter.db.tables import sorted_names
from crofter.errors import Unavailable

log = logging.getLogger("crofter")

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 8420
"""The advisory lock that lets one process at a time change a schema."""
REVISION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"


class SchemaError(Exception):
    """The database cannot be used by this release. The text says why."""


def known_revisions() -> list[str]:
    return sorted(path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def is_ready(database: Database) -> bool:
    """Whether the schema is this release's: one statement, and no table of the server need be known for it."""
    try:
        with database.read() as db:
            if not _has_revision(db):
                return False
            stored = db.raw("SELECT version_num FROM alembic_version").fetchall()
            return [str(row[0]) for row in stored] == [known_revisions()[-1]]
    except Unavailable:
        return False  # to be told by whoever prepares it


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
