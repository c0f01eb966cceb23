"""Waiting for events: cursor, long poll and stream, never missing one and never telling one twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.databases import PostgresServer

TOKEN = "a-token-for-two-processes"


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
        told = [next(stream), next(stream)]
    assert [content["entity"]["label"] for _, _, content in told] == ["one", "two"]
    assert [name for _, name, _ in told] == ["event", "event"]
    tag(writer, "three")
    with streaming(alice, **{"Last-Event-ID": str(told[-1][0])}) as stream:
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


class Process:
    """A server of its own, beside others on one database."""

    def __init__(self, address: str) -> None:
        command = [sys.executable, "-m", "crofter", "serve", "--port", "0", "--database", address, "--log", "off"]
        environment = {**os.environ, "CROFTER_BOOTSTRAP_TOKEN": TOKEN, "CROFTER_SECRET_KEY": "0" * 64}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self.url = next(word for word in self._process.stdout.readline().split() if word.startswith("http"))

    def client(self) -> Client:
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60, verify=False)

    def close(self) -> None:
        self._process.terminate()
        assert self._process.wait(20) == 0


@pytest.fixture
def processes(postgres_server: PostgresServer) -> Iterator[list[Process]]:
    address = postgres_server.address(postgres_server.empty())
    started = [Process(address), Process(address)]
    yield started
    for one in started:
        one.close()


def test_two_processes_tell_every_event_once_and_in_order(processes: list[Process]) -> None:
    count = 40

    def write(process: Process, name: str) -> None:
        with process.client() as client:
            for number in range(count):
                tag(client, f"{name}-{number:03}")

    told: list[int] = []
    with processes[0].client() as reader, streaming(reader, "/v4/account/events/stream?after=0") as stream:
        writers = [threading.Thread(target=write, args=(one, f"p{place}")) for place, one in enumerate(processes)]
        for writer in writers:
            writer.start()
        while len(told) < 2 * count:
            told.append(next(stream)[2]["id"])
        for writer in writers:
            writer.join()
    with processes[1].client() as reader:
        page = reader.get("/v4/account/events?after=0&page_size=500").json()
    assert told == [event["id"] for event in page["data"]]
    assert len(set(told)) == 2 * count
