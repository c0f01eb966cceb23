"""The checks of declared events and answers see what they are there for: each is shown a planted defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from httpx2 import Client
from tools import coverage

from crofter import events
from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from tests import cloud as clouds
from tests import recorder, whole_run
from tests.cloud import Cloud
from tests.recorder import Record, unseen
from tests.resources.compute import deploy, disks


def endpoint(name: str) -> Endpoint:
    return next(endpoint for endpoint in ENDPOINTS if endpoint.name == name)


@pytest.fixture
def problems(cloud: Cloud) -> Iterator[Callable[[], list[str]]]:
    """Return a function for the problems of the test's writes, which then do not fail the test."""
    assert clouds.inspect() == []
    yield clouds.inspect
    clouds.inspect()


def test_an_event_that_is_not_written_any_more_is_missed(
    cloud: Cloud, alice: Client, problems: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = deploy(cloud, alice)
    path = f"/v4/compute/instances/{own}/disks/{disks(alice, own)[0]['id']}"
    assert alice.put(path, json={"label": "first"}).status_code == 200
    assert problems() == []
    written = events.write

    def forgetful(db: Any, now: int, author: Any, action: str, *more: Any, **details: Any) -> int:
        return 0 if action == "disk_update" else written(db, now, author, action, *more, **details)

    monkeypatch.setattr(events, "write", forgetful)
    assert alice.put(path, json={"label": "second"}).status_code == 200
    assert problems() == ["update_disk left none of disk_update"]


def test_an_event_that_is_not_declared_is_found(
    alice: Client, problems: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = events.write

    def talkative(db: Any, now: int, author: Any, action: str, *more: Any, **details: Any) -> int:
        written(db, now, author, "tag_update", *more, **details)
        return written(db, now, author, action, *more, **details)

    monkeypatch.setattr(events, "write", talkative)
    assert alice.post("/v4/tags", json={"label": "garden"}).status_code == 200
    assert problems() == ["create_tag left tag_update, which it does not declare"]


def test_an_event_of_a_write_that_declares_none_is_found(
    alice: Client, problems: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint("create_tag"), "events", ())
    assert alice.post("/v4/tags", json={"label": "garden"}).status_code == 200
    assert problems() == ["create_tag left tag_create, which it does not declare"]


@pytest.mark.both
def test_plans_and_repeated_answers_are_not_held_to_it(alice: Client, problems: Callable[[], list[str]]) -> None:
    assert alice.post("/v4/tags", json={"label": "garden"}, headers={"Prefer": "plan"}).status_code == 200
    once = {"Idempotency-Key": "once"}
    answers = [alice.post("/v4/tags", json={"label": "garden"}, headers=once) for _ in range(2)]
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"]
    assert problems() == []


def test_an_event_of_the_work_that_a_write_began_counts_for_the_write(
    cloud: Cloud, alice: Client, problems: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Record()
    monkeypatch.setattr(cloud.watch, "record", seen)
    deploy(cloud, alice)
    assert problems() == []
    assert seen.events["create_instance"] == {"compute_create", "compute_boot"}


def everything() -> Record:
    """A run in which all that is declared came."""
    left = {endpoint.name: set(endpoint.events) for endpoint in ENDPOINTS}
    return Record(coverage.documented(ENDPOINTS), left, set(recorder.UNCHANGED))


def test_a_declared_event_that_never_comes_is_found_at_the_end_of_a_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = coverage.documented(ENDPOINTS)
    seen = everything()
    assert unseen(seen, documented) == []
    monkeypatch.setattr(endpoint("delete_tag"), "events", ("tag_delete", "tag_farewell"))
    assert unseen(seen, documented) == ["delete_tag never left tag_farewell"]


def test_an_exception_that_nothing_needs_is_found_at_the_end_of_a_whole_run() -> None:
    seen = everything()
    seen.unchanged.discard("delete_instance")
    assert unseen(seen, coverage.documented(ENDPOINTS)) == [
        "delete_instance always left an event: it needs no exception"
    ]


def test_an_answer_that_never_came_is_found_at_the_end_of_a_whole_run() -> None:
    seen = everything()
    assert whole_run.shortcomings(seen) == []
    seen.answers["list_tags"] = {200, 400, 401, 403, 418, 429, 500}
    assert whole_run.shortcomings(seen) == [
        "list_tags never answered 503",
        "list_tags answered 418, undocumented",
        "COVERAGE.md does not agree with this run",
    ]
    del seen.answers["list_tags"]
    assert "list_tags never answered 200" in whole_run.shortcomings(seen)


def test_what_several_processes_have_seen_is_put_together() -> None:
    record = Record({"list_tags": {200}}, {"create_tag": {"tag_create"}}, {"delete_instance"})
    record.add(Record({"list_tags": {401}, "view_tag": {404}}, {"create_tag": set()}, set()))
    assert record.answers == {"list_tags": {200, 401}, "view_tag": {404}}
    assert (record.events, record.unchanged) == ({"create_tag": {"tag_create"}}, {"delete_instance"})
