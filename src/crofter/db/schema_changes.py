"""Changes of the schema, by SQLAlchemy's own engine and Alembic."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, inspect, text
from sqlalchemy.exc import DatabaseError

from crofter.db import schema
from crofter.db.database import Database
from crofter.db.schema import LOCK, REVISION_TABLE, SchemaError, known_revisions
from crofter.db.tables import metadata
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
