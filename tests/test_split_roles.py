"""Servers and workers apart: each can be seen by itself, and the whole in the metrics of any of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
from tools.ports import free_ports

from crofter.clock import DAY, SECOND
from crofter.engine.metrics import overview
from crofter.engine.tables import operation
from crofter.engine.tables import worker as workers
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.loopback import PATIENCE
from tests.served import CROFTER, Log, environment, serving

SECRET = {"CROFTER_SECRET_KEY": "5" * 64, "CROFTER_LOG": "json"}
WAIT_SECONDS = 60


class Working:
    """`crofter work` in a process of its own, with a port for its metrics."""

    def __init__(self, database: str) -> None:
        self._log = Log()
        command = [CROFTER, "work", "--database", database, "--metrics-port", "0"]
        options: Any = {"env": environment(**SECRET), "stdin": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log.file, **options)
        assert self.process.stdout is not None
        match = re.search(r"metrics at (http://\S+)/metrics", self.process.stdout.readline())
        assert match, self.log()
        self.url = match[1]

    def log(self) -> str:
        return self._log.read()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log().splitlines()]

    def close(self) -> int:
        self.process.terminate()
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def working(database: str) -> Iterator[Working]:
    worker = Working(database)
    try:
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.close()


def until(what: str, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def numbers(url: str) -> dict[str, float]:
    lines = httpx2.get(f"{url}/metrics", timeout=30).text.splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def ready(url: str) -> tuple[int, str, dict[str, bool]]:
    answer = httpx2.get(f"{url}/health/ready", timeout=30)
    return answer.status_code, answer.json()["status"], answer.json()["parts"]


def test_a_server_without_workers_says_so_and_a_worker_shows_its_own_work(postgres_server: PostgresServer) -> None:
    database = postgres_server.address(postgres_server.create())
    with serving("--role", "api", "--database", database, env=SECRET) as api, api.client() as client:
        alone = {"database": True, "writes": True, "worker": False, "clock": True}
        assert ready(api.url) == (200, "degraded", alone)  # what it accepts is kept until a worker comes
        assert numbers(api.url)["crofter_workers"] == 0
        body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}
        number = client.post("/v4/compute/instances", json=body).json()["id"]
        with working(database) as worker:
            until("the instance runs", lambda: _status(client, number) == "running")
            until(
                "the end is counted", lambda: numbers(worker.url).get('crofter_operations_total{what="done"}', 0) >= 1
            )
            assert numbers(api.url).get('crofter_operations_total{what="done"}', 0) == 0
            assert numbers(api.url)["crofter_workers"] == numbers(worker.url)["crofter_workers"] == 1
            until("the server knows of it", lambda: ready(api.url)[1:] == ("ok", alone | {"worker": True}))
            assert ready(worker.url)[0] == 200
            assert httpx2.get(f"{worker.url}/health/live", timeout=PATIENCE).status_code == 200
            assert httpx2.get(f"{worker.url}/v4/regions", timeout=PATIENCE).status_code == 404
            (ended,) = [
                line
                for line in worker.lines()
                if line.get("kind") == "compute_boot" or "create" in line.get("kind", "")
            ][:1]
            assert (ended["state"], ended["level"], ended["account"]) == ("done", "info", 1)
            worker.process.send_signal(signal.SIGHUP)
            until("it has reloaded", lambda: any("reloaded" in line["message"] for line in worker.lines()))
            worker.process.kill()
            worker.process.wait()
            until("its death is seen", lambda: ready(api.url)[2] == alone and numbers(api.url)["crofter_workers"] == 0)


def _status(client: httpx2.Client, number: int) -> str:
    return str(client.get(f"/v4/compute/instances/{number}").json()["status"])


@pytest.mark.both
def test_what_is_stuck_and_what_failed_is_counted_from_the_database(cloud: Cloud) -> None:
    cloud.freeze()
    now = cloud.runtime.clock.now()
    common = {"kind": "strange", "version": 1, "queue": "none", "cursor": "x", "input": {}, "vars": {}, "created": now}
    rows: list[dict[str, Any]] = [
        {"state": "queued", "due": now - 61 * SECOND, "key": "a"},  # stuck: not claimed
        {"state": "queued", "due": now - 59 * SECOND, "key": "b"},
        {"state": "queued", "due": now + 61 * SECOND, "key": "c"},
        {"state": "running", "due": now, "key": "d", "owner": 1},
        {"state": "queued", "due": now - 61 * SECOND, "key": "d"},  # waits behind the one before
        {"state": "running", "due": now, "key": "e", "owner": 4711},  # stuck: nobody is at it
        {"state": "failed", "due": now, "finished": now - 1},
        {"state": "failed", "due": now, "finished": now - DAY},  # a day ago
    ]
    with suppress(Undone), cloud.runtime.database.write() as db:
        before = overview(db, now)
        db.insert(workers, id=1, host="api", pid=1, lease=now, works=False)
        for row in rows:
            db.insert(operation, **common, **row)
        after = overview(db, now)
        raise Undone
    assert (before.stuck, before.failed, before.workers) == (0, 0, 1)
    assert (after.stuck, after.failed, after.workers) == (2, 1, 1)


class Undone(Exception):
    """Leaves the transaction, so that none of its rows outlasts the test."""


def test_each_of_several_processes_has_a_port_for_its_metrics(postgres_server: PostgresServer) -> None:
    database = postgres_server.address(postgres_server.create())
    port = free_ports(2)
    flags = ("--workers", "2", "--database", database, "--metrics-port", str(port))
    with serving(*flags, env=SECRET) as server:
        for place in (port, port + 1):
            url = f"http://127.0.0.1:{place}"
            until("it answers", lambda url=url: _answers(url))  # type: ignore[misc]
            assert numbers(url)["crofter_workers"] >= 1
        os.kill(server.id, signal.SIGHUP)
        until("both have reloaded", lambda: server.log().count("reloaded: ") == 2)
        assert server.client().get("/v4/regions").status_code == 200


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/ready", timeout=30).status_code == 200
    except httpx2.HTTPError:
        return False
