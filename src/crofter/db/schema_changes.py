"""Changes of the schema, by SQLAlchemy's own engine and Alembic."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, inspect, text
from sqlalchemy.exc import DatabaseError

from crofter.db import schema
from crofter.db.database import Database
from crofter.db.schema import COLUMNS, LOCK, REVISION_TABLE, SchemaError, known_revisions, missing, must_fit
from crofter.db.tables import known_columns, metadata
from crofter.errors import Unavailable


def engine_for(database: Database) -> Engine:
    """SQLAlchemy's own engine, for changes of the schema only."""
    if database.dialect == "sqlite":
        import crofter.db.sqlite_dialect  # noqa: F401, PLC0415 - who serves PostgreSQL has no use for it

        return create_engine(database.url, poolclass=NullPool)
    return create_engine(database.url, poolclass=NullPool, connect_args={"connect_timeout": 5})


def prepare(database: Database) -> str:
    """Bring the schema to this release's revision; says what was done: ``made``, ``moved`` or ``ready``."""
    head = known_revisions()[-1]
    engine = engine_for(database)
    try:
        with engine.connect() as connection:
            if database.dialect == "postgresql":
                connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
                connection.commit()
            stored = _stored(connection)
            if stored is None:
                _make(connection, head)
                return "made"
            if stored == head:
                return "ready"
            _must_be_known(connection, stored)
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


def _must_be_known(connection: Connection, stored: str) -> None:
    """Raise SchemaError unless a release has written the database, and this release knows its schema."""
    there = _columns(connection)
    if stored in known_revisions():
        must_fit(stored, there, columns_at(stored))
        return
    known = f"this release knows up to {known_revisions()[-1]}"
    if lacking := missing(there, known_columns()):
        raise SchemaError(
            f"the database has schema {stored} and lacks {lacking}, while {known}: "
            "a development version from before the first release, or another program, wrote it"
        )
    raise SchemaError(
        f"the database has schema {stored}, which is newer than this release knows ({known_revisions()[-1]}): "
        "use the release that wrote it, or a newer one"
    )


def _columns(connection: Connection) -> list[tuple[str, str]]:
    """Table and column of everything in the database."""
    rows = connection.execute(text(COLUMNS[connection.dialect.name])).fetchall()
    connection.rollback()
    return [(str(table), str(column)) for table, column in rows]


def columns_at(revision: str) -> dict[str, list[str]]:
    """The columns of each table after a migration, read from an empty database on which all up to it were run."""
    import apsw  # noqa: PLC0415 - needed once per release

    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA foreign_keys = OFF")
    for script in sorted((schema.MIGRATIONS / "versions").glob("[0-9]*.sqlite.sql")):
        if script.name.partition("_")[0] <= revision:
            for statement in script.read_text().split("--;"):
                connection.execute(statement)
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(COLUMNS["sqlite"]):
        columns.setdefault(str(table), []).append(str(column))
    connection.close()
    return {name: names for name, names in columns.items() if not name.startswith("sqlite_")}


def _make(connection: Connection, head: str) -> None:
    there = _columns(connection)
    ours = {name: columns for name, columns in known_columns().items() if name in {table for table, _ in there}}
    if lacking := missing(there, ours):
        raise SchemaError(f"the tables of another program are in this database: it lacks {lacking}")
    with connection.begin():
        metadata.create_all(connection)
        connection.execute(text(REVISION_TABLE))
        connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": head})


def _move(connection: Connection, to: str = "head") -> None:
    # Imported here: it costs more than all the rest of a start, and is needed once per release.
    from alembic.config import Config  # noqa: PLC0415
    from alembic.runtime.environment import EnvironmentContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs(to, revision)

    with EnvironmentContext(config, script, fn=steps, destination_rev=to) as environment:
        environment.configure(connection=connection, transaction_per_migration=True)
        with environment.begin_transaction():
            environment.run_migrations()
