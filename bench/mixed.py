"""Mixed load: many reads, some lists, a few creations by several accounts, and how much of it is served."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from bench import client
from bench.accounts import creates_of, opened
from bench.client import Make
from bench.measuring import Effort
from bench.processes import Cpu, Server
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import INSTANCES, get

CONNECTIONS = (8, 32)
PROCESSES = 2
"""API processes where the database allows for more than one."""
PERIOD = 20
"""Number of requests of which one creates and three list."""


def mixed(store: Store, effort: Effort, amount: int) -> tuple[str, list[Verdict]]:
    """Measure requests per second, which depend on other load: comparable within a run only."""
    processes = PROCESSES if store.database else 1
    server = store.server(processes=processes)
    try:
        make, numbers = _mixture(opened(server)), itertools.count(1)
        client.load(server.port, make, numbers, amount // 4, CONNECTIONS[-1])
        rows = [_row(server, make, numbers, effort, amount, connections) for connections in CONNECTIONS]
    finally:
        server.stop()
    columns = ["80 % GET, 15 % list, 5 % create", "requests/s", "server us", "database us", "of two idle cores"]
    return render(f"Mixed load, processes: {processes}", columns, rows), []


def _mixture(tokens: list[str]) -> Make:
    create, view, listed = creates_of(tokens), get(f"{INSTANCES}/50"), get(INSTANCES)

    def make(number: int) -> bytes:
        place = number % PERIOD
        # Accounts create in turns: the next creator must not follow from the last.
        return create(number // PERIOD) if place == 0 else (listed if place % 5 == 0 else view)(number)

    return make


def _row(
    server: Server, make: Make, numbers: Iterator[int], effort: Effort, amount: int, connections: int
) -> list[str]:
    """The best of a few rounds: the others were disturbed."""
    rates, costs = [], []
    for _ in range(min(effort.rounds, 5)):
        before, began = server.cpu_seconds(), time.perf_counter()
        client.load(server.port, make, numbers, amount, connections)
        rates.append(amount / (time.perf_counter() - began))
        costs.append(server.cpu_seconds().since(before, amount))
    cost = Cpu(min(cost.server for cost in costs), min(cost.database for cost in costs))
    figures = [f"{max(rates):.0f}", f"{cost.server:.0f}", f"{cost.database:.0f}", f"{2e6 / cost.both:.0f}/s"]
    return [f"{connections} connections", *figures]
