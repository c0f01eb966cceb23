"""Databases that releases have written: upgraded with every row, and refused in one sentence if they do not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from crofter import assembly, audit
from crofter.bootstrap import prepare
from crofter.db import Database
from crofter.db.postgres import PostgresDatabase
from crofter.db.schema import SchemaError, known_revisions
from crofter.db.schema_changes import columns_at
from crofter.db.sqlite import SqliteDatabase
from crofter.db.tables import known_columns
from tests.databases import PostgresServer
from tests.db.released_databases import ReleasedDatabase, versions
from tests.db.test_migrations import described
from tests.served import run_here

assert callable(assembly.build)  # all of the server, and so every table, is known from here on

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
Released = Callable[[str], ReleasedDatabase]


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest) -> PostgresServer | None:
    wanted = request.param == "postgresql"
    server: PostgresServer | None = request.getfixturevalue("postgres_server") if wanted else None
    return server


@pytest.fixture
def released(tmp_path: Path, server: PostgresServer | None) -> Released:
    return lambda version: ReleasedDatabase(version, tmp_path, server)


def counts(database: Database) -> dict[str, int]:
    with database.read() as db:
        tables = sorted({str(row[0]) for row in described(database) if row[0] in known_columns()})
        return {name: int(db.raw(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]) for name in tables}


def test_the_database_of_each_release_is_kept() -> None:
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGELOG.read_text(), re.MULTILINE)
    assert set(released) <= set(versions())


@pytest.mark.parametrize("version", versions())
def test_the_database_of_a_release_is_upgraded_and_keeps_every_row(
    version: str, released: Released, tmp_path: Path, server: PostgresServer | None
) -> None:
    upgraded = released(version).opened()
    before = {name: count for name, count in counts(upgraded).items() if count}
    assert len(before) > 50
    assert prepare(upgraded) in ("moved", "ready")
    after = counts(upgraded)
    assert {name: after[name] for name in before} == before
    fresh: Database = (
        SqliteDatabase(tmp_path / "fresh") if server is None else PostgresDatabase(server.address(server.empty()))
    )
    assert prepare(fresh) == "made"
    assert described(upgraded) == described(fresh)
    fresh.close()
    upgraded.close()


@pytest.mark.parametrize("version", versions())
def test_a_server_goes_on_with_the_database_of_a_release(version: str, released: Released) -> None:
    cloud = released(version).cloud()
    try:
        alice, billed = cloud.client(cloud.token("alice")), cloud.client(cloud.token("billed"))
        assert [tag["label"] for tag in alice.get("/v4/tags").json()["data"]] == ["blue"]
        assert billed.get("/v4/account/invoices").json()["results"] > 0
        cloud.settle()
        listed = billed.get("/v4/compute/instances").json()["data"]
        assert [instance["status"] for instance in listed if instance["label"] == "waiting"] == ["offline"], listed
        with cloud.runtime.database.read() as db:
            assert audit.verify(cloud.runtime.keyring, db) == []
    finally:
        cloud.close()


def test_scripts_of_accounts_keep_their_ids_beside_those_of_the_catalogue(released: Released) -> None:
    database = released("0.1.0")
    opened = database.opened()
    with opened.write() as db:
        kept, *_, last = (row[0] for row in db.raw("SELECT id FROM stackscript ORDER BY id").fetchall())
        db.raw(f"INSERT INTO stackscript_deployment_count VALUES ({kept}, 3, 7, 2)")
        db.raw(f"DELETE FROM stackscript WHERE id = {last}")
    opened.close()
    cloud = database.cloud()
    try:
        shown = cloud.client(None).get("/v4/compute/stackscripts").json()["data"]
        assert [(shown[0][name]) for name in ("id", "deployments_total", "deployments_active")] == [kept, 7, 2]
        built_in = [script["id"] for script in shown if script["username"] == "compute"]
        assert built_in == [last + number for number in range(1, len(built_in) + 1)]  # no id is used again
        assert built_in
    finally:
        cloud.close()


def refusal(released: ReleasedDatabase, *changes: str) -> str:
    """What ``crofter migrate`` says of a database after these changes, which it leaves as they are."""
    database = released.opened()
    with database.write() as db:
        for change in changes:
            db.raw(change)
    before = described(database)
    database.close()
    place = ("--data", str(released.folder)) if released.address is None else ("--database", released.address)
    refused = run_here("migrate", *place)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused
    assert run_here("admin", "tokens", "list", *place).returncode == 1
    database = released.opened()
    assert described(database) == before
    database.close()
    return refused.stderr


def test_a_database_that_lacks_a_table_or_a_column_is_named_in_one_sentence(released: Released) -> None:
    changed = "ALTER TABLE tag RENAME TO kept", "ALTER TABLE volume RENAME COLUMN label TO named"
    words = refusal(released("0.1.0"), *changed)
    assert words.startswith("crofter: the database has schema 0001 but lacks the table tag, the column volume.label: ")


def test_a_database_from_before_the_first_release_is_not_called_newer(released: Released) -> None:
    changed = "ALTER TABLE tag RENAME TO kept", "UPDATE alembic_version SET version_num = '9017'"
    words = refusal(released("0.1.0"), *changed)
    assert "has schema 9017 and lacks " in words
    assert "the table tag" in words
    assert "newer" not in words


def test_tables_of_another_program_are_not_taken_for_ours(tmp_path: Path, server: PostgresServer | None) -> None:
    database: Database = (
        SqliteDatabase(tmp_path) if server is None else PostgresDatabase(server.address(server.empty()))
    )
    with database.write() as db:
        db.raw("CREATE TABLE account (name TEXT)")
    before = described(database)
    with pytest.raises(SchemaError, match=r"of another program are in this database: it lacks the column account\."):
        prepare(database)
    assert described(database) == before
    database.close()


def test_migrations_lead_to_the_tables_that_the_server_knows() -> None:
    assert {name: set(columns) for name, columns in columns_at(known_revisions()[-1]).items()} == {
        name: set(columns) for name, columns in known_columns().items()
    }
