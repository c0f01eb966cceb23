"""`crofter admin backup` and `restore`: a file that is whole though others write, and everything back from it."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from crofter import audit
from crofter.bootstrap import build_runtime
from crofter.cli.backups import back_up
from crofter.config import load
from crofter.db import metadata
from crofter.db.sqlite import SqliteDatabase
from tests.cloud import ADMIN, Cloud
from tests.databases import PostgresServer
from tests.test_staff import AdminCommands

OURS = ("worker", "meta", "audit", "audit_head", "audit_checkpoint", "operation", "schedule")
"""Tables that a restore itself, and the two openings around it, write to."""


class Place:
    """Where a database is: the one that is backed up, or the one that it is put back into."""

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self.folder = folder
        self.database = None if server is None else server.address(server.empty())

    def cloud(self) -> Cloud:
        return Cloud(self.database, data=str(self.folder))

    def admin(self, screen: pytest.CaptureFixture[str]) -> AdminCommands:
        return AdminCommands(screen, self.folder, self.database)

    def rows(self) -> dict[str, list[Any]]:
        """Everything that the tables hold, and that the audit log is whole."""
        runtime = build_runtime(load({"data": str(self.folder), "database": self.database}, {}))
        try:
            with runtime.database.read() as db:
                assert audit.verify(runtime.keyring, db) == []
                names = [table.name for table in metadata.sorted_tables if table.name not in OURS]
                return {name: sorted(map(repr, db.raw(f'SELECT * FROM "{name}"').fetchall())) for name in names}
        finally:
            runtime.database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def places(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Place, Place]:
    server = request.getfixturevalue("postgres_server") if request.param == "postgresql" else None
    return Place(tmp_path / "one", server), Place(tmp_path / "two", server)


@pytest.mark.both
def test_a_backup_under_load_is_restored_elsewhere_with_every_row(
    places: tuple[Place, Place], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = places
    file, later = tmp_path / "backup", tmp_path / "later"
    cloud = here.cloud()
    try:
        token, invoices = _billed_account(cloud)
        _written_to_while(cloud, lambda: here.admin(capsys)("backup", str(file)))
        here.admin(capsys)("backup", str(file), code=1)  # existing files are never replaced
    finally:
        cloud.close()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    here.admin(capsys)("backup", str(later))

    there.folder.mkdir()
    there.admin(capsys)("restore", str(later), code=1)  # without its key
    shutil.copy(here.folder / "secret.key", there.folder / "secret.key")
    there.admin(capsys)("restore", str(later))
    assert there.rows() == here.rows()
    there.admin(capsys)("restore", str(file), code=1)  # there is something already
    there.admin(capsys)("restore", str(file), "--replace")
    rows = there.rows()
    assert len(rows["tag"]) > 0
    assert there.admin(capsys)("audit", "verify") == []
    restored = there.cloud()
    try:
        tags = restored.client(ADMIN).get("/v4/tags").json()
        assert tags["results"] == len(rows["tag"])  # the counts that lists go by are right
        assert restored.client(ADMIN).post("/v4/tags", json={"label": "after"}).status_code == 200
        assert _invoices(restored, token) == invoices
    finally:
        restored.close()


def _billed_account(cloud: Cloud) -> tuple[str, list[bytes]]:
    """A customer with a month of an instance behind it: the token, and what the invoices say to the last byte."""
    token = cloud.account(username="billed", card="valid")["token"]
    instance = {"region": "us-east", "type": "g6-nanode-1"}
    assert cloud.client(token).post("/v4/compute/instances", json=instance).status_code == 200
    cloud.advance(32 * 86_400)
    invoices = _invoices(cloud, token)
    assert len(invoices) > 2
    return token, invoices


def _invoices(cloud: Cloud, token: str) -> list[bytes]:
    client = cloud.client(token)
    listed = client.get("/v4/account/invoices")
    items = [client.get(f"/v4/account/invoices/{invoice['id']}/items") for invoice in listed.json()["data"]]
    return [listed.content, *(item.content for item in items), client.get("/v4/account/payments").content]


def _written_to_while(cloud: Cloud, act: Any) -> None:
    """Tags are made, one after the other, before, while and after something is done."""
    client, stop, some = cloud.client(ADMIN), threading.Event(), threading.Event()

    def write() -> None:
        for number in range(10_000):
            if stop.is_set():
                return
            assert client.post("/v4/tags", json={"label": f"tag-{number}"}).status_code == 200
            if number == 20:
                some.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert some.wait(60)
        act()
    finally:
        stop.set()
        writer.join()


def test_a_database_in_use_and_a_file_that_is_none_are_refused(
    places: tuple[Place, Place], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, _ = places
    file = tmp_path / "backup"
    admin = here.admin(capsys)
    cloud = here.cloud()
    try:
        admin("backup", str(file))
        admin("restore", str(file), "--replace", code=1)
        assert cloud.admin.get("/v4/tags").status_code == 200
    finally:
        cloud.close()
    before = here.rows()
    for wrong in (b"", b"nonsense", file.read_bytes()[:-100] if here.database else b"SQLite format 3\x00"):
        file.write_bytes(wrong)
        admin("restore", str(file), "--replace", code=1)
        assert admin.stderr.startswith("crofter: ")
    if here.database:
        file.write_bytes(gzip.compress(b'{"format": "crofter backup 1", "revision": "9999", "sequences": {}}\nend\n'))
        admin("restore", str(file), "--replace", code=1)
        assert "has schema 9999" in admin.stderr
    assert here.rows() == before


def _contents(place: Place) -> list[Any]:
    """Everything in the target: tables and functions of PostgreSQL, or files of the database."""
    if place.database is None:
        return sorted(path.name for path in place.folder.glob("crofter.db*"))
    with psycopg.connect(place.database) as connection:
        made = b"SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        functions = b"SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        return [*connection.execute(made).fetchall(), *connection.execute(functions).fetchall()]


def test_a_refused_restore_leaves_an_empty_target_empty(
    places: tuple[Place, Place], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = places
    here.admin(capsys)("init")
    here.admin(capsys)("backup", str(tmp_path / "whole"))
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "torn").write_bytes(content[:-100] if here.database else content[:20_000])
    there.folder.mkdir()
    shutil.copy(here.folder / "secret.key", there.folder / "secret.key")
    there.admin(capsys)("restore", str(tmp_path / "torn"), code=1)
    assert _contents(there) == []
    (there.folder / "secret.key").write_text("0" * 64)
    there.admin(capsys)("restore", str(tmp_path / "whole"), code=1)  # of another key
    assert _contents(there) == []
    shutil.copy(here.folder / "secret.key", there.folder / "secret.key")
    there.admin(capsys)("restore", str(tmp_path / "whole"))
    assert there.rows() == here.rows()


@pytest.mark.both
def test_a_backup_of_another_key_replaces_nothing(
    places: tuple[Place, Place], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = places
    for place, name in ((here, "mine"), (there, "other")):
        place.admin(capsys)("init")
        place.admin(capsys)("backup", str(tmp_path / name))
    before, admin = there.rows(), there.admin(capsys)
    admin("restore", str(tmp_path / "mine"), "--replace", code=1)
    assert admin.stderr == (
        f"crofter: the secret key is not the one that {tmp_path / 'mine'} was sealed with; nothing was changed\n"
    )
    assert there.rows() == before
    admin("restore", str(tmp_path / "other"), "--replace")
    assert there.rows() == before


def test_a_whole_backup_that_cannot_be_recorded_is_only_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, file = Place(tmp_path / "one", None), tmp_path / "backup"
    here.admin(capsys)("init")
    runtime = build_runtime(load({"data": str(here.folder)}, {}))
    try:
        cast("SqliteDatabase", runtime.database)._writer.execute("PRAGMA query_only=ON")
        [row] = back_up(runtime, {"file": str(file), "as": None, "group": "backup", "verb": ""})
    finally:
        runtime.database.close()
    assert row["bytes"] == file.stat().st_size > 0
    warning = capsys.readouterr().err
    assert warning.startswith("crofter: the backup is whole, but the database could not record it: ")
    assert warning.count("\n") == 1
    here.admin(capsys)("restore", str(file), "--replace")


def test_a_backup_that_lacks_a_table_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Place(tmp_path / "one", None)
    admin = here.admin(capsys)
    admin("init")
    admin("backup", str(tmp_path / "backup"))
    with closing(sqlite3.connect(tmp_path / "backup")) as connection:
        connection.execute("DROP TABLE tag")
        connection.commit()
    before = here.rows()
    admin("restore", str(tmp_path / "backup"), "--replace", code=1)
    assert "lacks the table tag" in admin.stderr
    assert here.rows() == before


def test_tables_of_others_are_no_obstacle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres_server: PostgresServer
) -> None:
    here, there = Place(tmp_path / "one", postgres_server), Place(tmp_path / "two", postgres_server)
    here.admin(capsys)("init")
    assert here.database is not None
    with psycopg.connect(here.database, autocommit=True) as connection:
        connection.execute(b"CREATE TABLE scratch AS SELECT generate_series(1, 9) AS number")
    here.admin(capsys)("backup", str(tmp_path / "backup"))
    there.folder.mkdir()
    shutil.copy(here.folder / "secret.key", there.folder / "secret.key")
    there.admin(capsys)("restore", str(tmp_path / "backup"))
    assert there.rows() == here.rows()
