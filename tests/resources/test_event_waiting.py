"""Waiting for events: cursor, long poll and stream, without gaps or repeats."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Client

from tests.cloud import Cloud


def tag(client: Client, label: str) -> None:
    assert client.post("/v4/tags", json={"label": label}).status_code == 200


def labels(page: dict[str, Any]) -> list[str]:
    return [event["entity"]["label"] for event in page["data"]]


def frames(lines: Iterator[str]) -> Iterator[tuple[str | None, str, dict[str, Any]]]:
    """Id, name and content of each event of a stream."""
    number: str | None = None
    name = ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "id":
            number = value
        elif field == "event":
            name = value
        elif field == "data":
            yield number, name, json.loads(value)
            number = None


@contextmanager
def streaming(client: Client, path: str = "/v4/account/events/stream", **headers: str) -> Iterator[Any]:
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        yield frames(answer.iter_lines())


def test_a_cursor_gives_what_came_after_it_oldest_first(alice: Client) -> None:
    for label in ("one", "two", "three"):
        tag(alice, label)
    newest = alice.get("/v4/account/events").json()
    assert labels(newest) == ["three", "two", "one"]
    first = newest["data"][-1]["id"]
    assert labels(alice.get(f"/v4/account/events?after={first}").json()) == ["two", "three"]
    assert alice.get(f"/v4/account/events?after={newest['data'][0]['id']}").json()["results"] == 0


def test_a_long_poll_answers_empty_when_its_time_is_up(alice: Client) -> None:
    page = alice.get("/v4/account/events?after=0&wait=1").json()
    assert page == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_a_long_poll_is_answered_by_the_event_it_waits_for(cloud: Cloud, alice: Client) -> None:
    username = alice.get("/v4/profile").json()["username"]
    other = cloud.client(cloud.token(username))
    timer = threading.Timer(0.3, tag, (other, "late"))
    timer.start()
    page = alice.get("/v4/account/events?after=0&wait=30").json()
    timer.join()
    assert labels(page) == ["late"]


def test_a_neighbours_event_does_not_end_a_long_poll(cloud: Cloud, alice: Client, mallory: Client) -> None:
    timer = threading.Timer(0.2, tag, (mallory, "noise"))
    timer.start()
    page = alice.get("/v4/account/events?after=0&wait=1").json()
    timer.join()
    assert page["results"] == 0


def test_a_stream_tells_each_event_once_and_resumes_where_it_was_cut(cloud: Cloud, alice: Client) -> None:
    writer = cloud.client(cloud.token("alice"))
    with streaming(alice) as stream:
        for label in ("one", "two"):
            tag(writer, label)
        events = [next(stream), next(stream)]
    assert [content["entity"]["label"] for _, _, content in events] == ["one", "two"]
    assert [name for _, name, _ in events] == ["event", "event"]
    tag(writer, "three")
    with streaming(alice, **{"Last-Event-ID": str(events[-1][0])}) as stream:
        number, _, content = next(stream)
    assert content["entity"]["label"] == "three"
    assert number == str(content["id"])


def test_a_stream_tells_of_progress_without_moving_its_cursor(cloud: Cloud, alice: Client) -> None:
    writer = cloud.client(cloud.token("alice"))
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}
    with streaming(alice) as stream:
        assert writer.post("/v4/compute/instances", json={**body, "booted": False}).status_code == 200
        number, name, content = next(stream)
        assert (name, content["action"]) == ("event", "compute_create")
        assert number is not None
        cloud.settle()
        while content["status"] != "finished":
            number, name, content = next(stream)
            assert (number, name) == (None, "update")
    assert content["percent_complete"] == 100


def test_a_stream_ends_when_its_token_is_revoked(cloud: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"label": "watcher"}).json()
    watcher = cloud.client(made["token"])
    with streaming(watcher, "/v4/account/events/stream?after=999999") as stream:
        assert alice.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
        tag(alice, "wake")
        assert list(stream) == []
