"""`/health/ready` says 200 when a write would succeed, and 503 with the part that cannot when it would not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from crofter import readiness
from crofter.db import sqlite
from tests.cloud import Cloud
from tests.db.test_transactions import limit_pages

NOT_WRITABLE = {"database": True, "writes": False, "worker": True, "clock": True}
NOT_READABLE = {"database": False, "writes": False, "worker": False, "clock": True}


@pytest.fixture
def own_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud on SQLite that may be harmed, whose readiness is looked at anew each time."""
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
    cloud = Cloud()
    cloud.freeze()
    yield cloud
    cloud.close()


@pytest.fixture
def database(own_cloud: Cloud) -> sqlite.SqliteDatabase:
    database = own_cloud.runtime.database
    assert isinstance(database, sqlite.SqliteDatabase)
    return database


def ready(cloud: Cloud) -> dict[str, bool]:
    answer = cloud.sandbox.get("/health/ready")
    parts: dict[str, bool] = answer.json()["parts"]
    assert answer.status_code == (200 if all(parts.values()) else 503)
    assert answer.json()["status"] == ("ok" if all(parts.values()) else "unavailable")
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)
    return parts


def test_a_full_disk_is_not_ready_until_there_is_space_again(own_cloud: Cloud, database: sqlite.SqliteDatabase) -> None:
    assert all(ready(own_cloud).values())
    limit_pages(database, 0)
    assert ready(own_cloud) == NOT_WRITABLE
    assert own_cloud.admin.get("/v4/tags").status_code == 200
    limit_pages(database, 100_000)
    assert all(ready(own_cloud).values())


def test_a_lock_of_another_program_is_not_ready(own_cloud: Cloud, database: sqlite.SqliteDatabase) -> None:
    other = apsw.Connection(str(database.path))
    with database._writer_lock:  # else the server might be writing just now
        database._writer.set_busy_timeout(50)
        other.execute("BEGIN IMMEDIATE")
    assert ready(own_cloud) == NOT_WRITABLE
    other.execute("ROLLBACK")
    other.close()
    assert all(ready(own_cloud).values())


def test_a_file_that_was_moved_away_is_not_ready(own_cloud: Cloud, database: sqlite.SqliteDatabase) -> None:
    """A thread that has read before has the file open, and reads on; another one cannot open it."""
    parts = own_cloud.application.readiness.parts
    assert all(ready(own_cloud).values())
    assert all(parts().values())
    database.path.rename(elsewhere := database.path.with_name("elsewhere.db"))
    with ThreadPoolExecutor(1) as new_thread:
        try:
            assert parts() == NOT_WRITABLE
            assert new_thread.submit(parts).result() == NOT_READABLE
            assert ready(own_cloud) in (NOT_WRITABLE, NOT_READABLE)  # depends on the thread
            assert not database.path.exists()
        finally:
            elsewhere.rename(database.path)
        assert all(new_thread.submit(parts).result().values())
    assert all(ready(own_cloud).values())


def test_the_trial_leaves_one_row_and_is_made_at_most_once_a_second(own_cloud: Cloud) -> None:
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(readiness, "FRESH_SECONDS", 3600.0)
        assert all(ready(own_cloud).values())
        before = _written(own_cloud)
        assert all(all(ready(own_cloud).values()) for _ in range(5))
        assert _written(own_cloud) == before
    assert all(ready(own_cloud).values())
    assert _written(own_cloud) != before
    assert len(_written(own_cloud)) == 1


def _written(cloud: Cloud) -> list[str]:
    with cloud.runtime.database.read() as db:
        return [row[0] for row in db.raw("SELECT value FROM meta WHERE name = 'write_check'").fetchall()]


@pytest.mark.both
def test_a_cloud_that_was_put_back_is_ready_at_once(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows were replaced, and with them the one that says that this process is at work."""
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
    cloud.freeze()  # on a frozen clock no queue is polled, so the missing row stays unnoticed
    assert cloud.sandbox.post("/_sandbox/snapshots", json={"name": "before"}).status_code == 200
    assert cloud.sandbox.post("/_sandbox/snapshots/before/restore").status_code == 200
    assert all(ready(cloud).values())
    for _ in range(5):
        assert cloud.sandbox.post("/_sandbox/reset").status_code == 200
        assert all(ready(cloud).values())
    assert cloud.sandbox.delete("/_sandbox/snapshots/before").status_code == 200
