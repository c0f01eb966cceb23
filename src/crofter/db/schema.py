"""The schema: made whole on an empty database, moved forward on an old one, refused on a newer one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, inspect, text
from sqlalchemy.exc import DatabaseError

from crofter.db.database import Database
from crofter.db.tables import metadata
from crofter.errors import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 8420
"""The advisory lock that lets one process at a time change a schema."""


class SchemaError(Exception):
    """The database cannot be used by this release. The text says why."""


def known_revisions() -> list[str]:
    return sorted(path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def engine_for(database: Database) -> Engine:
    """SQLAlchemy's own engine, for changes of the schema only."""
    if database.dialect == "sqlite":
        import crofter.db.sqlite_dialect  # noqa: F401, PLC0415 - who serves PostgreSQL has no use for it

        return create_engine(database.url, poolclass=NullPool)
    return create_engine(database.url, poolclass=NullPool, connect_args={"connect_timeout": 5})


def is_ready(database: Database) -> bool:
    """Whether the schema is this release's: one statement, and no table of the server need be known for it."""
    places = "pg_tables WHERE schemaname = current_schema() AND tablename"
    if database.dialect == "sqlite":
        places = "sqlite_master WHERE name"
    try:
        with database.read() as db:
            if not db.raw(f"SELECT 1 FROM {places} = 'alembic_version'").fetchall():
                return False
            return [str(row[0]) for row in db.raw("SELECT version_num FROM alembic_version").fetchall()] == [
                known_revisions()[-1]
            ]
    except Unavailable:
        return False  # to be told by whoever prepares it


def prepare(database: Database) -> str:
    """Bring the schema to this release's revision; says what was done: ``made``, ``moved`` or ``ready``."""
    head = known_revisions()[-1]
    engine = engine_for(database)
    try:
        with engine.connect() as connection:
            if database.dialect == "postgresql":
                connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
                connection.commit()
            stored = _stored(connection)
            if stored is None:
                _make(connection, head)
                return "made"
            if stored == head:
                return "ready"
            if stored not in known_revisions():
                raise SchemaError(
                    f"the database has schema {stored}, which is newer than this release knows ({head}): "
                    "use the release that wrote it, or a newer one"
                )
            _move(connection)
            return "moved"
    except DatabaseError as error:
        raise Unavailable(f"cannot use the database: {str(error.orig).strip().splitlines()[0]}") from error
    finally:
        engine.dispose()


def _stored(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        connection.rollback()
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    connection.rollback()
    return str(revision)


def _make(connection: Connection, head: str) -> None:
    with connection.begin():
        metadata.create_all(connection)
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": head})


def _move(connection: Connection, to: str = "head") -> None:
    # Imported here: it costs more than all the rest of a start, and is needed once per release.
    from alembic.config import Config  # noqa: PLC0415
    from alembic.runtime.environment import EnvironmentContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs(to, revision)

    with EnvironmentContext(config, script, fn=steps, destination_rev=to) as environment:
        environment.configure(connection=connection, transaction_per_migration=True)
        with environment.begin_transaction():
            environment.run_migrations()


@cache
def _from_last_to_first(_count: int) -> list[str]:
    """All tables, each before those that it refers to. Sorted once, unless tables have come since."""
    return [table.name for table in reversed(metadata.sorted_tables)]


def empty(database: Database) -> None:
    """Remove every row and start every id from one again; the schema stays."""
    tables = _from_last_to_first(len(metadata.tables))
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
