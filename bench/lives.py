"""Instances that are made through the interface and come to run, in accounts of several sizes."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench import client
from bench.processes import TOKEN, Server
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import FLAT, INSTANCES, deploy_instance

PAGE = 500
LOOK = 0.2
"""Seconds between two looks at whether all of them run."""
OPERATIONS = 2
"""Operations per instance: creation and boot."""


class Cost(NamedTuple):
    accepted: float
    """Seconds until the last request was answered."""
    running: float
    """Seconds until the last instance was on."""
    cpu: float


def lives(filled: Sequence[Store], sizes: Sequence[int], amount: int) -> tuple[str, list[Verdict]]:
    costs = [_cost(store, size, amount) for store, size in zip(filled, sizes, strict=True)]
    rows = [
        [
            f"{amount:,} more beside {size:,}",
            f"{amount / cost.accepted:.0f}",
            f"{OPERATIONS * amount / cost.running:.0f}",
            f"{cost.running:.1f} s",
            f"{1e3 * cost.cpu / amount:.2f}",
        ]
        for size, cost in zip(sizes, costs, strict=True)
    ]
    verdict = Verdict(costs[-1].cpu / costs[0].cpu, FLAT)
    rows.append(["CPU of one, last/first", "", "", "", *verdict.cells()])
    columns = ["Created and running", "requests/s", "operations/s", "took", "CPU ms each", "target", ""]
    return render("Lives", columns, [[*row, *[""] * (len(columns) - len(row))] for row in rows]), [verdict]


def _cost(store: Store, size: int, amount: int) -> Cost:
    server = store.server()
    try:
        _let_nothing_wait(server)
        cpu, began = server.cpu_seconds().both, time.perf_counter()
        client.load(server.port, deploy_instance, itertools.count(1), amount)
        accepted = time.perf_counter() - began
        while _running(server, size, amount) < amount:
            time.sleep(LOOK)
        return Cost(accepted, time.perf_counter() - began, server.cpu_seconds().both - cpu)
    finally:
        server.stop()


def _let_nothing_wait(server: Server) -> None:
    """Set all durations to zero: the server is measured, not the hypervisor."""
    body = json.dumps({"*": {"seconds": 0}}).encode()
    answer = client.send(server.port, client.request("PUT", "/_sandbox/transitions", TOKEN, body=body))
    assert answer.status == 200, answer


def _running(server: Server, size: int, amount: int) -> int:
    """How many of those that were made after the filled ones run."""
    filter = json.dumps({"id": {"+gt": size}})
    running = 0
    for page in range(1, -(-amount // PAGE) + 1):
        path = f"{INSTANCES}?page_size={PAGE}&page={page}"
        answer = client.send(server.port, client.request("GET", path, TOKEN, filter=filter))
        running += sum(instance["status"] == "running" for instance in json.loads(answer.body)["data"])
    return running
