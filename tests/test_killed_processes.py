"""Two servers and two workers on a PostgreSQL under mixed load, while one of the four is killed repeatedly.

Promises, each proved with a planted defect: acknowledged work exists, only clients of the dead process see errors, and
due work starts within two seconds.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from tests.databases import PostgresServer
from tests.served import CROFTER, Process
from tests.test_split_roles import Working

SECRET = {"CROFTER_SECRET_KEY": "5" * 64, "CROFTER_LOG": "off"}
INSTANCES, TAGS = "/v4/compute/instances", "/v4/tags"
DEPLOYED = {
    "type": "g6-nanode-1",
    "region": "us-east",
    "image": "compute/debian11",
    "root_pass": "a-long-Winding-r0ad",
}
PATIENCE = 50
PACE_SECONDS = 0.05
"""Pause between calls of a customer. Without it four customers fill two cores, which would test overload instead."""
BUSY_SECONDS = 2.0
"""Work that is due waits no longer, as long as a worker lives."""
OLDEST = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp()) * 1000 - due), 0) FROM operation
WHERE state IN ('queued', 'waiting') AND due > %s AND NOT EXISTS (
  SELECT 1 FROM operation AS held
  WHERE held.key = operation.key AND held.state IN ('running', 'waiting') AND held.id <> operation.id)
"""
"""Milliseconds that the oldest operation waits which nothing of its own object is ahead of."""
DEFECTIVE = """
import sys
from crofter.cli import main
from crofter.db.postgres_batch import PostgresBatch
PostgresBatch._conclude = lambda self: self._connection.rollback()
sys.exit(main())
"""
"""A server that acknowledges writes without storing them."""


class Fleet:
    """Four processes; a killed one is restarted."""

    def __init__(self, address: str) -> None:
        self.address = address
        with ThreadPoolExecutor(4) as pool:  # all four at the same time, on an empty database
            servers = [pool.submit(self._server) for _ in range(2)]
            workers = [pool.submit(Working, address) for _ in range(2)]
            self.servers = [server.result() for server in servers]
            self.workers = [worker.result() for worker in workers]
        self._changing = threading.Lock()

    def _server(self, *program: str) -> Process:
        return Process("--database", self.address, "--role", "api", env=SECRET, program=program or (CROFTER,))

    def server(self, number: int) -> Process:
        with self._changing:
            return self.servers[number % 2]

    def kill(self, place: int, *program: str) -> None:
        """Kill one of the four, and start another in its place."""
        if place < 2:
            self.servers[place].kill()
            fresh = self._server(*program)
            with self._changing:
                self.servers[place] = fresh
        else:
            dead = self.workers[place - 2]
            dead.process.kill()
            dead.process.wait()
            self.workers[place - 2] = Working(self.address)

    def close(self) -> None:
        for server in self.servers:
            server.close()
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()


class Customer:
    """Creates, views and lists at any server that answers, and stores all responses."""

    def __init__(self, fleet: Fleet, number: int, token: str) -> None:
        self._fleet, self._number, self._token = fleet, number, token
        self.instances: dict[int, str] = {}
        """Acknowledged instances by id."""
        self.labels: set[str] = set()
        """Acknowledged tags."""
        self.wrong: list[str] = []
        self.cut_off = 0
        self.busy = 0

    def run(self, over: threading.Event) -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            try:
                with self._fleet.server(self._number + self.cut_off).client(self._token) as client:
                    while not over.is_set():
                        turn += 1
                        self._turn(client, turn)
                        over.wait(PACE_SECONDS)
            except httpx2.TransportError:
                self.cut_off += 1  # the server was killed: use the other one

    def _turn(self, client: httpx2.Client, turn: int) -> None:
        if turn % 8 == 0:
            label = f"kept-{self._number}-{turn:06}"
            body = {**DEPLOYED, "label": label}
            answer = self._asked(lambda: client.post(INSTANCES, json=body, headers={"Idempotency-Key": label}))
            if self._well(answer):
                self.instances[answer.json()["id"]] = label
        elif turn % 8 == 4:
            answer = self._asked(lambda: client.post(TAGS, json={"label": f"tag-{turn:06}"}))
            if self._well(answer):
                self.labels.add(f"tag-{turn:06}")
        elif turn % 8 == 2:
            answer = self._asked(lambda: client.get(INSTANCES, params={"page_size": 500}))
            few = self._well(answer) and answer.json()["results"] <= 500
            if few and not self.instances.keys() <= {row["id"] for row in answer.json()["data"]}:
                self.wrong.append("a list lacks what its owner was told of")
        elif self.instances:
            number, label = random.choice(list(self.instances.items()))
            answer = self._asked(lambda: client.get(f"{INSTANCES}/{number}"))
            if self._well(answer) and answer.json()["label"] != label:
                self.wrong.append(f"{number} is {answer.json()['label']}, not {label}")

    def _asked(self, ask: Callable[[], httpx2.Response]) -> httpx2.Response:
        """Send a request, and repeat it if the server is busy."""
        answer = ask()
        for _ in range(PATIENCE):
            if answer.status_code != 503:
                break
            self.busy += 1
            time.sleep(0.2)
            answer = ask()
        return answer

    def _well(self, answer: httpx2.Response) -> bool:
        if answer.status_code != 200:
            self.wrong.append(f"{answer.request.method} {answer.url.path}: {answer.status_code} {answer.text[:200]}")
        return answer.status_code == 200


class Watch:
    """Looks at the queue all the time."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.oldest = 0.0
        self.stood_still = 0.0
        """Milliseconds between two looks, at most: a machine that does not get to look does not get to work either."""
        self.began = time.time() * 1000

    def run(self, over: threading.Event) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            looked = time.monotonic()
            while not over.wait(0.1):
                self.stood_still = max(self.stood_still, 1000 * (time.monotonic() - looked))
                looked = time.monotonic()
                [[waited]] = connection.execute(OLDEST.encode(), (int(self.began),)).fetchall()
                self.oldest = max(self.oldest, float(waited))


def accounts(fleet: Fleet, amount: int) -> list[str]:
    with fleet.servers[0].client() as client:
        made = [client.post("/_sandbox/accounts", json={}) for _ in range(amount)]
    return [str(answer.json()["token"]) for answer in made]


@contextmanager
def fleet_of(address: str) -> Iterator[Fleet]:
    fleet = Fleet(address)
    try:
        yield fleet
    finally:
        fleet.close()


def storm(fleet: Fleet, pause: float, victims: Iterable[int]) -> tuple[list[Customer], Watch]:
    customers = [Customer(fleet, number, token) for number, token in enumerate(accounts(fleet, 4))]
    watch, over = Watch(fleet.address), threading.Event()
    runs = [*(customer.run for customer in customers), watch.run]
    threads = [threading.Thread(target=run, args=(over,)) for run in runs]
    for thread in threads:
        thread.start()
    for victim in victims:
        time.sleep(pause)
        fleet.kill(victim)
    time.sleep(pause)
    over.set()
    for thread in threads:
        thread.join(60)
    return customers, watch


def nothing_is_lost(fleet: Fleet, customers: list[Customer]) -> None:
    """Check that acknowledged objects exist once, and that all work has ended."""
    for number, customer in enumerate(customers):
        with fleet.server(number).client(customer._token) as client:
            rows = all_rows(client, INSTANCES)
            assert customer.instances.items() <= {row["id"]: row["label"] for row in rows}.items()
            assert len({row["label"] for row in rows}) == len(rows)
            assert customer.labels <= {row["label"] for row in all_rows(client, TAGS)}
        assert customer.wrong == []
        assert customer.instances


def all_rows(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        page = client.get(path, params={"page_size": 500, "page": len(rows) // 500 + 1}).json()
        rows += page["data"]
        if len(rows) >= page["results"]:
            return rows


def all_work_ends(address: str) -> None:
    until = time.monotonic() + 60
    with psycopg.connect(address, autocommit=True) as connection:
        while True:
            left = connection.execute(
                "SELECT kind, state FROM operation WHERE state IN ('queued', 'running', 'waiting')"
                " AND event_id IS NOT NULL"
            ).fetchall()
            if not left:
                break
            assert time.monotonic() < until, left
            time.sleep(0.2)
        failed = connection.execute("SELECT kind, error FROM operation WHERE state = 'failed'").fetchall()
        assert failed == []


def survived(fleet: Fleet, customers: list[Customer], watch: Watch) -> None:
    nothing_is_lost(fleet, customers)
    all_work_ends(fleet.address)
    assert sum(customer.cut_off for customer in customers), "nobody was there when a server was killed"


@pytest.mark.soak  # half a minute of a core; tests/e2e kills a server in every run, and tests/engine workers
def test_a_server_and_a_worker_are_killed_and_nobody_loses_anything(postgres_server: PostgresServer) -> None:
    """Four that start at once on an empty database, and two that are killed. A server that loses writes is noticed."""
    with fleet_of(postgres_server.address(postgres_server.empty())) as fleet:
        customers, watch = storm(fleet, 0.5, (0, 2))
        survived(fleet, customers, watch)
        fleet.kill(0, sys.executable, "-c", DEFECTIVE)
        with fleet.servers[0].client(customers[0]._token) as client:
            customers[0]._turn(client, 1_000_004)
        with pytest.raises(AssertionError):
            nothing_is_lost(fleet, customers)


@pytest.mark.soak
def test_one_of_four_is_killed_every_few_seconds(postgres_server: PostgresServer) -> None:
    chance = random.Random(8)
    victims = [0, 2, *(chance.randrange(4) for _ in range(28))]
    with fleet_of(postgres_server.address(postgres_server.empty())) as fleet:
        customers, watch = storm(fleet, 2.0, victims)
        survived(fleet, customers, watch)
        assert watch.oldest <= BUSY_SECONDS * 1000 + watch.stood_still
