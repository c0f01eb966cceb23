"""The whole life of an instance over real HTTP, with the server killed in the middle of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.databases import PostgresServer
from tests.e2e.serving import Served

PASSWORD = "Vq7!mmpx-Tolp"


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    address = None
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        address = server.address(server.empty())
    started = Served(tmp_path, address)
    yield started
    assert started.stop() == 0


def events(served: Served) -> list[tuple[str, str]]:
    listed = served.call("GET", "/v4/account/events?page_size=500")["data"]
    ours = [event for event in reversed(listed) if event["action"].startswith("compute_")]  # a month may end meanwhile
    return [(event["action"], event["status"]) for event in ours]


def test_an_instance_lives_through_two_deaths_of_its_server(served: Served) -> None:
    served.client.put("/_sandbox/transitions", json={"*": {"seconds": 300}})  # longer than any start
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": PASSWORD}
    made = served.call("POST", "/v4/compute/instances", **body, label="web", backups_enabled=True)
    path = f"/v4/compute/instances/{made['id']}"
    assert made["status"] == "provisioning"
    served.kill()
    served.start()
    assert served.call("GET", path)["status"] == "provisioning"
    served.settle()
    assert served.call("GET", path)["status"] == "running"
    served.call("POST", f"{path}/backups", label="first")
    served.kill()
    served.start()
    served.settle()
    assert served.call("GET", f"{path}/backups")["snapshot"]["current"]["label"] == "first"
    served.call("POST", f"{path}/resize", type="g6-standard-1")
    served.settle()
    served.call("POST", f"{path}/migrate", region="us-west")
    served.settle()
    instance = served.call("GET", path)
    assert (instance["status"], instance["type"], instance["region"]) == ("running", "g6-standard-1", "us-west")
    served.call("DELETE", path)
    served.settle()
    assert served.client.get(path).status_code == 404
    assert events(served) == [
        ("compute_create", "finished"),
        ("compute_boot", "finished"),
        ("compute_snapshot", "finished"),
        ("compute_resize_create", "notification"),
        ("compute_resize", "finished"),
        ("compute_migrate_datacenter_create", "notification"),
        ("compute_migrate_datacenter", "finished"),
        ("compute_delete", "finished"),
    ]


def test_what_was_answered_is_there_after_a_kill_and_nothing_is_twice(served: Served) -> None:
    """Random kills under load: an acknowledged write is never lost, and a retried one never done twice."""
    acknowledged: dict[str, bytes] = {}
    for round_ in range(3):
        stop = threading.Event()

        def write(first: int, stop: threading.Event) -> None:
            with served.another() as client:
                number = first
                while not stop.is_set():
                    key = f"key-{number}"
                    try:
                        answer = _tag(client, key)
                    except httpx2.HTTPError:
                        return
                    if answer.status_code == 200:
                        acknowledged[key] = answer.content
                    number += 1

        writers = [threading.Thread(target=write, args=(100_000 * round_ + 10_000 * place, stop)) for place in range(3)]
        for writer in writers:
            writer.start()
        while len(acknowledged) < 25 * (round_ + 1):
            writers[0].join(0.02)
        served.kill()
        stop.set()
        for writer in writers:
            writer.join()
        served.start()
    listed: list[str] = []
    for page in range(1, 50):
        data = served.call("GET", f"/v4/tags?page_size=500&page={page}")["data"]
        listed += [tag["label"] for tag in data]
        if len(data) < 500:
            break
    assert len(listed) == len(set(listed))
    assert set(acknowledged) <= set(listed)
    for key in list(acknowledged)[:20]:
        assert _tag(served.client, key).content == acknowledged[key]
    assert served.call("GET", "/v4/account/events")["results"] == len(listed)


def _tag(client: Any, key: str) -> Any:
    return client.post("/v4/tags", json={"label": key}, headers={"Idempotency-Key": key})
