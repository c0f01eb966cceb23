"""Stores that are full, locked or away: refused with 503 and left as they were, and well again by themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apsw
import httpx2
import pytest

from crofter.db import sqlite
from crofter.errors import NoSpace, Unavailable
from tests.cloud import ADMIN, Cloud
from tests.databases import PostgresServer
from tests.db.test_transactions import limit_pages


@pytest.fixture
def own_cloud() -> Iterator[Cloud]:
    """A cloud on SQLite that may be harmed."""
    cloud = Cloud()
    yield cloud
    cloud.close()


def create(client: httpx2.Client, label: str) -> httpx2.Response:
    return client.post("/v4/tags", json={"label": label})


def labels(client: httpx2.Client) -> set[str]:
    seen: set[str] = set()
    page, pages = 1, 1
    while page <= pages:
        answer = client.get("/v4/tags", params={"page": page, "page_size": 500}).json()
        seen |= {tag["label"] for tag in answer["data"]}
        page, pages = page + 1, answer["pages"]
    return seen


BUSY = "The service is busy. Please try again."


def refused_politely(answer: httpx2.Response, reason: str = BUSY) -> bool:
    return (
        answer.status_code == 503
        and answer.json() == {"errors": [{"reason": reason}]}
        and int(answer.headers["retry-after"]) >= 1
    )


def burst(cloud: Cloud, names: list[str]) -> dict[str, httpx2.Response]:
    """Many writes at once, so that some of them share a commit."""
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: create(cloud.admin, name), names), strict=True))


def test_a_full_disk_refuses_writes_serves_reads_and_recovers(own_cloud: Cloud) -> None:
    database = own_cloud.runtime.database
    assert isinstance(database, sqlite.SqliteDatabase)
    own_cloud.freeze()
    acknowledged = {"before"} if create(own_cloud.admin, "before").status_code == 200 else set()
    limit_pages(database, 4)
    answers = burst(own_cloud, [f"full {number} " + "x" * 35 for number in range(200)])
    acknowledged |= {name for name, answer in answers.items() if answer.status_code == 200}
    refused = [answer for answer in answers.values() if answer.status_code != 200]
    assert refused  # the disk did fill up
    assert all(refused_politely(answer, NoSpace.default) for answer in refused)
    assert own_cloud.admin.get("/v4/regions").status_code == 200
    assert labels(own_cloud.admin) == acknowledged
    limit_pages(database, 100_000)
    assert create(own_cloud.admin, "after").status_code == 200
    assert labels(own_cloud.admin) == acknowledged | {"after"}
    assert own_cloud.admin.get("/v4/tags").json()["results"] == len(acknowledged) + 1


def test_a_writer_who_does_not_get_a_turn_is_told_to_come_back(
    own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as impatient, own_cloud.runtime.database.write():
        impatient.setattr(sqlite, "WRITE_WAIT", 0.05)
        answers = burst(own_cloud, [f"locked {number}" for number in range(12)])
        assert all(map(refused_politely, answers.values()))
        assert own_cloud.admin.get("/v4/tags").json()["results"] == 0  # reads do not wait
    assert create(own_cloud.admin, "free again").status_code == 200


def test_a_lock_of_another_program_is_not_waited_for_in_vain(own_cloud: Cloud) -> None:
    database = own_cloud.runtime.database
    assert isinstance(database, sqlite.SqliteDatabase)
    other = apsw.Connection(str(database.path))
    with database._writer_lock:  # else the server might be writing just now
        database._writer.set_busy_timeout(50)
        other.execute("BEGIN IMMEDIATE")
    assert refused_politely(create(own_cloud.admin, "locked"))
    other.execute("ROLLBACK")
    other.close()
    assert create(own_cloud.admin, "free again").status_code == 200


class Writers:
    """Clients that create tags with idempotency keys and repeat each request until it succeeds."""

    def __init__(self, url: str, count: int = 4) -> None:
        self.acknowledged: list[str] = []
        self.in_doubt = 0
        self.unexpected: list[str] = []
        self._url = url
        self._stopped = threading.Event()
        self.progress = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
        with httpx2.Client(
            base_url=self._url, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=30, verify=False
        ) as client:
            number = 0
            while not self._stopped.is_set():
                number += 1
                self._until_done(client, f"tag {writer}-{number}")

    def _until_done(self, client: httpx2.Client, label: str) -> None:
        while True:
            try:
                answer = client.post("/v4/tags", json={"label": label}, headers={"Idempotency-Key": label})
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code == 200:
                self.acknowledged.append(label)
                self.progress.release()
                return
            if answer is not None and answer.status_code != 503:
                self.unexpected.append(f"{answer.status_code} {answer.text}")
                self.progress.release()
                return
            self.in_doubt += 1

    def wait_for(self, more: int) -> None:
        for _ in range(more):
            assert self.progress.acquire(timeout=60)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that may be harmed."""
    server = PostgresServer()
    yield server
    server.close()


def test_a_restart_of_postgresql_under_load_loses_and_doubles_nothing(own_server: PostgresServer) -> None:
    cloud = Cloud(own_server.address(own_server.create()))
    try:
        writers = Writers(cloud.url)
        for _ in range(2):
            writers.wait_for(20)
            own_server.crash()
            own_server.start()
        writers.wait_for(20)
        writers.stop()
        assert writers.unexpected == []
        assert writers.in_doubt > 0  # the restarts were noticed
        assert sorted(writers.acknowledged) == sorted(labels(cloud.admin) & set(writers.acknowledged))
        assert cloud.admin.get("/v4/account/events", params={"page_size": 1}).json()["results"] == len(
            labels(cloud.admin)
        )
    finally:
        cloud.close()


def test_a_store_that_was_moved_away_is_no_fault_of_ours(own_cloud: Cloud) -> None:
    own_cloud.freeze()
    folder = own_cloud.runtime.database.path.parent  # type: ignore[attr-defined]
    folder.rename(elsewhere := folder.with_name(f"{folder.name}-away"))
    try:
        assert refused_politely(create(own_cloud.admin, "lost"))
    finally:
        elsewhere.rename(folder)
    assert create(own_cloud.admin, "found").status_code == 200
    assert labels(own_cloud.admin) == {"found"}


@pytest.mark.parametrize("another", [False, True], ids=["none", "another"])
def test_a_thread_that_opens_a_file_which_was_moved_away_neither_makes_nor_takes_another(
    own_cloud: Cloud, another: bool
) -> None:
    """The first read of a thread opens the file; what it opens it keeps for as long as it lives."""
    own_cloud.freeze()
    database = own_cloud.runtime.database
    assert isinstance(database, sqlite.SqliteDatabase)
    assert create(own_cloud.admin, "kept").status_code == 200

    def count() -> int:
        with database.read() as db:
            return int(db.raw("SELECT count(*) FROM tag").fetchone()[0])

    with ThreadPoolExecutor(1) as new_thread:
        database.path.rename(elsewhere := database.path.with_name("elsewhere.db"))
        try:
            if another:
                database.path.touch()
            with pytest.raises(Unavailable):
                new_thread.submit(count).result()
            assert database.path.exists() == another
        finally:
            elsewhere.rename(database.path)
        assert new_thread.submit(count).result() == 1
    assert labels(own_cloud.admin) == {"kept"}
