"""The schema: a first start and the migrations lead to the same one, and a newer one is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tools.schema import FILE, ROOT, edited, landed, written

from crofter import assembly
from crofter.db import Database, meta, schema
from crofter.db.postgres import PostgresDatabase
from crofter.db.schema import SchemaError, known_revisions
from crofter.db.schema_changes import _move, engine_for, prepare
from crofter.db.sqlite import SqliteDatabase
from tests.databases import PostgresServer

assert callable(assembly.build)  # imports the whole server, and so every table

DESCRIBED = {
    "sqlite": (
        # By their meaning, since the text of a table differs once a column was added to it.
        "SELECT type, name, strict, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'"
        " ORDER BY name",
        "SELECT m.name, c.name, c.type, c.\"notnull\", replace(c.dflt_value, char(39), ''), c.pk, c.hidden"
        " FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY 1, 2",
        'SELECT m.name, f."from", f."table", f."to", f.on_update, f.on_delete FROM sqlite_master m,'
        " pragma_foreign_key_list(m.name) f ORDER BY 1, 2, 3, 4",
        "SELECT m.name, (SELECT group_concat(coalesce(name, '')) FROM pragma_index_info(i.name)), i.\"unique\","
        " i.origin, i.partial FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table'"
        " ORDER BY 1, 2, 3, 4, 5",
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL ORDER BY 1, 2",
    ),
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
        rows = [tuple(row) for sql in DESCRIBED[database.dialect] for row in db.raw(sql).fetchall()]
        if database.dialect == "sqlite":
            tables = db.raw("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
            rows += [(name, check) for name, sql in tables for check in re.findall(r"CHECK \(.*?\)(?=,| \))", sql)]
    return [tuple(" ".join(str(part).split()) for part in row) for row in rows if "alembic_version" not in str(row)]


class Pair:
    """Two empty databases of a kind."""

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
    databases = Pair(request.param, tmp_path, server)
    yield databases
    for database in databases.databases:
        database.close()


def test_a_first_start_and_the_migrations_make_the_same_schema(pair: Pair) -> None:
    made, moved = pair.databases
    assert prepare(made) == "made"
    with engine_for(moved).connect() as connection:
        _move(connection)
    schema_of_the_migrations = described(moved)
    assert len(schema_of_the_migrations) > 100
    assert schema_of_the_migrations == described(made)
    assert prepare(moved) == "ready"


HEAD = known_revisions()[-1]
NEXT = """
from crofter.db.migrations import run_script

revision = "{next}"
down_revision = "{head}"


def upgrade() -> None:
    run_script(__file__)
"""
ADDED = """CREATE TABLE added (id BIGINT NOT NULL, label TEXT NOT NULL)
--;
INSERT INTO added (id, label) SELECT CAST(value AS BIGINT), 'moved: 100%' FROM meta WHERE name = 'kept'
--;
CREATE INDEX ix_added_label ON added (label)
"""


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that knows one revision more than this one."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, folder)
    following = f"{int(HEAD) + 1:04}"
    (folder / "versions" / f"{following}_added.py").write_text(NEXT.format(head=HEAD, next=following))
    for dialect in ("sqlite", "postgresql"):
        (folder / "versions" / f"{following}_added.{dialect}.sql").write_text(ADDED)
    monkeypatch.setattr(schema, "MIGRATIONS", folder)


@pytest.mark.usefixtures("next_release")
def test_a_database_of_the_release_before_is_moved_and_keeps_its_rows(pair: Pair) -> None:
    database = pair.databases[0]
    with engine_for(database).connect() as connection:
        _move(connection, HEAD)
    with database.write() as db:
        meta.put(db, "kept", 7)
    assert prepare(database) == "moved"
    with database.read() as db:
        assert meta.get(db, "kept") == 7
        assert [tuple(row) for row in db.raw("SELECT id, label FROM added").fetchall()] == [(7, "moved: 100%")]
    assert "ix_added_label" in str(described(database))
    assert prepare(database) == "ready"


@pytest.mark.usefixtures("next_release")
def test_a_migration_that_fails_leaves_the_release_before(pair: Pair) -> None:
    database = pair.databases[0]
    with engine_for(database).connect() as connection:
        _move(connection, HEAD)
    before = described(database)
    for script in (schema.MIGRATIONS / "versions").glob("*_added.*.sql"):
        script.write_text(script.read_text() + "--;\nCREATE INDEX ix_nothing ON nowhere (label)\n")
    with pytest.raises(Exception, match="nowhere"):
        prepare(database)
    assert described(database) == before
    with engine_for(database).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD


def test_a_landed_migration_is_never_edited(tmp_path: Path) -> None:
    assert edited() == []
    copied = shutil.copytree(schema.MIGRATIONS / "versions", tmp_path / "versions")
    (copied / "0001_foundation.py").unlink()
    script = copied / "0001_foundation.sqlite.sql"
    script.write_text(script.read_text().replace("label TEXT NOT NULL", "label TEXT", 1))
    assert edited(copied) == ["0001_foundation.py", "0001_foundation.sqlite.sql"]


def test_every_migration_is_on_the_list_of_landed_ones() -> None:
    assert set(written()) == set(landed((ROOT / FILE).read_text()))


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
