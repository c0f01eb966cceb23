"""The databases of releases, kept as files: upgrades are tested on what a release has really written.

`python -m tests.db.released_databases 0.2.0` writes those of the present code. Run it once, at a release.
"""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from crofter.db import Database
from crofter.db.postgres import PostgresDatabase
from crofter.db.sqlite import SqliteDatabase
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.matrix import Matrix

FOLDER = Path(__file__).parent / "released"
SECRET_KEY = "3q2-7wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxw"
"""The master key of all of them, which seals nothing of value."""
INSTANCE = {"region": "us-east", "type": "g6-nanode-1"}


def versions() -> list[str]:
    return sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())


class ReleasedDatabase:
    """A copy of a release's database, which a test may upgrade. Without a server it is SQLite."""

    def __init__(self, version: str, folder: Path, server: PostgresServer | None) -> None:
        self.folder = folder / version
        self.folder.mkdir()
        self.address: str | None = None
        if server is None:
            (self.folder / "crofter.db").write_bytes(gzip.decompress((FOLDER / version / "sqlite.db.gz").read_bytes()))
            return
        self.address = server.address(server.empty())
        script = gzip.decompress((FOLDER / version / "postgresql.sql.gz").read_bytes())
        psql = [server.program("psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", self.address]
        subprocess.run(psql, input=script, stdout=subprocess.DEVNULL, check=True)

    def opened(self) -> Database:
        return SqliteDatabase(self.folder) if self.address is None else PostgresDatabase(self.address)

    def cloud(self) -> Cloud:
        return Cloud(self.address, data=str(self.folder), secret_key=SECRET_KEY)


def _fill(cloud: Cloud) -> None:
    """Write one of everything, invoices of a month, and an operation that has not begun."""
    Matrix(cloud)
    billed = cloud.person(username="billed", card="valid")
    assert billed.post("/v4/compute/instances", json=INSTANCE).status_code == 200
    cloud.advance(32 * 86_400)
    cloud.freeze()
    assert billed.post("/v4/compute/instances", json={**INSTANCE, "label": "waiting"}).status_code == 200


def write(version: str) -> None:
    folder = FOLDER / version
    folder.mkdir()  # a release's databases are written once
    with tempfile.TemporaryDirectory() as temporary:
        cloud = Cloud(data=temporary, secret_key=SECRET_KEY)
        _fill(cloud)
        cloud.close()
        whole = Path(temporary) / "whole.db"
        with closing(sqlite3.connect(Path(temporary) / "crofter.db")) as connection:
            connection.execute("VACUUM INTO ?", (str(whole),))
        with gzip.GzipFile(folder / "sqlite.db.gz", "wb", mtime=0) as file, whole.open("rb") as source:
            shutil.copyfileobj(source, file)
    server = PostgresServer()
    try:
        address = server.address(server.empty())
        cloud = Cloud(address, secret_key=SECRET_KEY)
        _fill(cloud)
        cloud.close()
        dump = [server.program("pg_dump"), "--no-owner", "--no-privileges", address]
        script = subprocess.run(dump, capture_output=True, check=True).stdout
        with gzip.GzipFile(folder / "postgresql.sql.gz", "wb", mtime=0) as file:
            file.write(script)
    finally:
        server.close()


if __name__ == "__main__":
    write(sys.argv[1])
