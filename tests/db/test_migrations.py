"""The schema: a first start and the migrations lead to the same one, and a newer one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from crofter import assembly
from crofter.db import Database
from crofter.db.postgres import PostgresDatabase
from crofter.db.schema import SchemaError, _move, engine_for, known_revisions, prepare
from crofter.db.sqlite import SqliteDatabase
from tests.databases import PostgresServer

assert callable(assembly.build)  # all of the server, and so every table, is known from here on

DESCRIBED = {
    "sqlite": ("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name",),
    "postgresql": (
        "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name"
        " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
        "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
        " ORDER BY 1, 2",
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
    ),
}


def described(database: Database) -> list[tuple[str, ...]]:
    """Everything that the database says of its schema, but for the row that says which revision it is."""
    with database.read() as db:
        rows = [row for sql in DESCRIBED[database.dialect] for row in db.raw(sql).fetchall()]
    return [tuple(" ".join(str(part).split()) for part in row) for row in rows if "alembic_version" not in str(row)]


class Pair:
    """Two empty databases of one sort."""

    def __init__(self, kind: str, folder: Path, server: PostgresServer | None) -> None:
        self.databases: list[Database] = []
        for number in range(2):
            if server is None:
                self.databases.append(SqliteDatabase(folder / str(number)))
            else:
                self.databases.append(PostgresDatabase(server.address(server.empty())))


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    server = request.getfixturevalue("postgres_server") if request.param == "postgresql" else None
    found = Pair(request.param, tmp_path, server)
    yield found
    for database in found.databases:
        database.close()


def test_a_first_start_and_the_migrations_make_the_same_schema(pair: Pair) -> None:
    made, moved = pair.databases
    assert prepare(made) == "made"
    with engine_for(moved).connect() as connection:
        _move(connection)
    found = described(moved)
    assert len(found) > 100
    assert found == described(made)
    assert prepare(moved) == "ready"


def test_a_schema_of_a_newer_release_is_refused_and_left_alone(pair: Pair) -> None:
    database = pair.databases[0]
    prepare(database)
    before = described(database)
    with engine_for(database).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaError, match="9999"):
        prepare(database)
    assert described(database) == before


def test_revisions_follow_one_another() -> None:
    known = known_revisions()
    assert known == sorted(set(known))
    assert known[0] == "0001"
