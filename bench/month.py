"""A month on the clock: ten accounts, forty instances, a backup of each on every day; on both databases."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from bench.accounts import asked, opened
from bench.processes import Cpu, Server
from bench.stores import Postgresql, Store
from bench.table import Verdict, render
from bench.work import INSTANCES

ACCOUNTS, DAYS = 10, 30
TIMES = 3.0
"""How many times as long as on SQLite it may take on PostgreSQL."""
IMAGE = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "a-long-Winding-r0ad"}


class Cost(NamedTuple):
    seconds: float
    cpu: Cpu
    operations: int


def month(folder: Path, instances: int, days: int = DAYS) -> tuple[str, list[Verdict]]:
    folder.mkdir()
    postgresql = Postgresql(folder)
    try:
        costs = {
            "SQLite": _cost(Store(folder / "sqlite"), instances, days),
            "PostgreSQL": _cost(next(postgresql.stores((1,))), instances, days),
        }
    finally:
        postgresql.stop()
    rows = [
        [
            name,
            str(cost.operations),
            f"{cost.seconds:.2f} s",
            f"{cost.cpu.server:.2f} s",
            f"{cost.cpu.database:.2f} s",
        ]
        for name, cost in costs.items()
    ]
    verdict = Verdict(costs["PostgreSQL"].seconds / costs["SQLite"].seconds, TIMES)
    processor = Verdict(costs["PostgreSQL"].cpu.both / costs["SQLite"].cpu.both, None)
    rows.append(["PostgreSQL/SQLite, took", "", *verdict.cells(), ""])
    rows.append(["PostgreSQL/SQLite, CPU", "", *processor.cells(), ""])
    columns = [f"{days} days, {instances} instances", "operations", "took", "server CPU", "database CPU"]
    return render("A month on the clock", columns, [row[: len(columns)] for row in rows]), [verdict]


def _cost(store: Store, instances: int, days: int) -> Cost:
    server = store.server()
    try:
        _fill(server, instances)
        before, began = server.cpu_seconds(), time.perf_counter()
        done = 0
        for _ in range(days):
            done += asked(server, "POST", "/_sandbox/clock/advance", body={"seconds": 86_400})["operations"]
        took, after = time.perf_counter() - began, server.cpu_seconds()
        return Cost(took, Cpu(after.server - before.server, after.database - before.database), done)
    finally:
        server.stop()


def _fill(server: Server, instances: int) -> None:
    asked(server, "POST", "/_sandbox/clock/freeze")
    tokens = opened(server, ACCOUNTS)
    for number in range(instances):
        body = {**IMAGE, "label": f"kept-{number:04}", "backups_enabled": True}
        asked(server, "POST", INSTANCES, tokens[number % ACCOUNTS], body)
    asked(server, "POST", "/_sandbox/settle")
