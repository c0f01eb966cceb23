"""The one writer of SQLite: what queues up is committed together, and each request still stands alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import pytest

from crofter.db import sqlite
from crofter.db.sqlite import SqliteDatabase
from crofter.edge import write_queue
from tests.cloud import Cloud
from tests.resources.followers import eventually


@pytest.fixture
def own_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setattr(sqlite, "WRITE_WAIT", 60.0)  # however long it takes until all are in line
    monkeypatch.setattr(write_queue, "MAX_QUEUE_SECONDS", 60.0)
    cloud = Cloud()
    cloud.freeze()  # no other writer
    yield cloud
    cloud.close()


class Queue:
    """Requests that arrive while the writer is blocked, and the writer's resulting groups."""

    def __init__(self, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        self._cloud = cloud
        self._write_queue = cloud.application.app.threads.writes
        self.batches: list[int] = []
        self.statements: list[str] = []
        answers = self._write_queue._answers

        def counted(jobs: list[Any]) -> list[Any]:
            job_answers = answers(jobs)
            self.batches.append(len(jobs))
            return job_answers

        monkeypatch.setattr(self._write_queue, "_answers", counted)

    def _note(self, _cursor: Any, statement: str, _values: Any) -> bool:
        self.statements.append(statement)
        return True

    def _are_waiting(self, count: int) -> bool:
        return self._write_queue._jobs.qsize() == count

    @property
    def commits(self) -> int:
        """How often new tags were committed. The heartbeat of the server may commit in between, or after a rollback."""
        count, inserted = 0, False
        for statement in self.statements:
            if statement.startswith("COMMIT"):
                count += inserted
            inserted = statement.startswith('INSERT INTO "tag" (') or (
                inserted and statement.split()[0] not in {"BEGIN", "COMMIT"}
            )
        return count

    def send(self, labels: list[str], *planned: str) -> list[httpx2.Response]:
        """Tags to be made, and some that are only to be planned, last."""
        database = self._cloud.runtime.database
        assert isinstance(database, SqliteDatabase)
        sent: list[Future[httpx2.Response]] = []
        with ThreadPoolExecutor(len(labels) + len(planned)) as pool:
            with database.write():
                for number, label in enumerate((*labels, *planned)):
                    headers = {"Prefer": "plan"} if label in planned else {}
                    sent.append(pool.submit(self._cloud.admin.post, "/v4/tags", json={"label": label}, headers=headers))
                    eventually(partial(self._are_waiting, number))  # the first is taken already
                database._writer.exec_trace = self._note
            answers = [future.result() for future in sent]
        database._writer.exec_trace = None
        return answers


@pytest.fixture
def queue(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(own_cloud, monkeypatch)


def test_what_queues_up_is_committed_together(own_cloud: Cloud, queue: Queue) -> None:
    answers = queue.send([f"tag {number}" for number in range(8)])
    assert [answer.status_code for answer in answers] == [200] * 8
    assert (queue.batches, queue.commits) == ([8], 1)
    assert own_cloud.admin.get("/v4/tags").json()["results"] == 8
    assert own_cloud.admin.get("/v4/account/events").json()["results"] == 8


def test_one_that_is_refused_does_not_harm_its_neighbours(own_cloud: Cloud, queue: Queue) -> None:
    answers = queue.send(["same", "one", "same", "x", "two", "same"])
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 400, 400, 400]
    labels = {tag["label"] for tag in own_cloud.admin.get("/v4/tags").json()["data"]}
    assert labels == {"same", "one", "two"}
    assert own_cloud.admin.get("/v4/account/events").json()["results"] == 3


def test_one_that_fails_late_lets_the_others_be_done_once_more(own_cloud: Cloud, queue: Queue) -> None:
    answers = queue.send(["one", "two", "three"], "only a thought")
    assert [answer.status_code for answer in answers] == [200] * 4
    assert answers[-1].headers["preference-applied"] == "plan"
    assert sum("SAVEPOINT" in statement for statement in queue.statements) > 0
    assert queue.commits == 1
    tags, events = (own_cloud.admin.get(path).json()["data"] for path in ("/v4/tags", "/v4/account/events"))
    assert sorted(tag["label"] for tag in tags) == ["one", "three", "two"]
    assert sorted(event["entity"]["label"] for event in events) == ["one", "three", "two"]


def test_a_token_that_is_revoked_in_the_same_commit_is_no_good_any_more(
    own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = own_cloud.admin.post("/v4/profile/tokens", json={"label": "short", "scopes": "*"}).json()
    write_queue, visitor, taken = (
        own_cloud.application.app.threads.writes,
        own_cloud.client(token["token"]),
        threading.Event(),
    )
    answers = write_queue._answers
    monkeypatch.setattr(write_queue, "_answers", lambda jobs: taken.set() or answers(jobs))
    with ThreadPoolExecutor(3) as pool, own_cloud.runtime.database.write():
        first = pool.submit(own_cloud.admin.post, "/v4/tags", json={"label": "first"})
        assert taken.wait(10)  # the first waits for its turn, the others behind it
        revoked = pool.submit(own_cloud.admin.delete, f"/v4/profile/tokens/{token['id']}")
        eventually(lambda: write_queue._jobs.qsize() == 1)
        late = pool.submit(visitor.post, "/v4/tags", json={"label": "too late"})
        eventually(lambda: write_queue._jobs.qsize() == 2)
    assert [future.result().status_code for future in (first, revoked, late)] == [200, 200, 401]
    assert [tag["label"] for tag in own_cloud.admin.get("/v4/tags").json()["data"]] == ["first"]


def test_one_that_has_waited_too_long_is_not_done_behind_its_callers_back(
    own_cloud: Cloud, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "MAX_QUEUE_SECONDS", -1.0)
    answers = queue.send(["one", "two", "three"])
    assert [answer.status_code for answer in answers] == [503] * 3
    assert own_cloud.admin.get("/v4/tags").json()["results"] == 0


def test_a_fault_of_ours_does_not_end_the_queue(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteDatabase, "batch", lambda _self, **_how: 1 / 0)
    assert own_cloud.admin.post("/v4/tags", json={"label": "lost"}).status_code == 500
    monkeypatch.undo()
    assert own_cloud.admin.post("/v4/tags", json={"label": "later"}).status_code == 200
