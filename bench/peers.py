"""The same three calls as a textbook would write them, with FastAPI and an ORM, and by other clouds for tests.

They are no dependencies of ours: ``--peers`` names a Python that has fastapi, uvicorn, sqlalchemy[asyncio] and
aiosqlite, and perhaps moto; Prism is found on the path.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench import client, machine, others
from bench.client import Make
from bench.measuring import Effort
from bench.processes import TOKEN, Server
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import INSTANCES, create_instance, get

LESS = 15.0
"""How many times less CPU than the textbook version ours is to take."""
SLOW = 10
"""Requests of a round, to those that take a tenth of a second for one."""
TEXTBOOK = Path(__file__).with_name("textbook.py")


def peers(store: Store, effort: Effort, python: str | None) -> tuple[str, list[Verdict]]:
    asked: list[tuple[str, Make]] = [
        ("GET one instance", get(f"{INSTANCES}/50")),
        ("list 100 instances", get(INSTANCES)),
        ("POST create instance", create_instance),
    ]
    server = store.server()
    try:
        ours = [_cost(server.port, server.pids, make, effort) for _name, make in asked]
    finally:
        server.stop()
    rows, verdicts = [], []
    if python is not None and others.has(python, "fastapi, sqlalchemy, greenlet, aiosqlite, uvicorn"):
        with _textbook(python, store.folder / "textbook.db") as (port, pid):
            theirs = [_cost(port, lambda: [pid], make, effort) for _name, make in asked]
        for (name, _make), mine, cost in zip(asked, ours, theirs, strict=True):
            verdicts.append(Verdict(LESS / (cost / mine), 1.0))
            rows.append([name, f"{mine:.0f}", f"{cost:.0f}", f"{cost / mine:.1f}x", f">= {LESS:.0f}x"])
    else:
        rows.append(["textbook FastAPI and ORM", "", "", "not installed", ""])
    for other in others.installed(python):
        with others.serving(other) as (port, pids):
            for (name, _make), mine, make in zip(asked, ours, other.asked(port), strict=True):
                cost = _cost(port, pids, make, effort, SLOW)
                rows.append([f"{name}, {other.name}", f"{mine:.0f}", f"{cost:.0f}", f"{cost / mine:.1f}x", ""])
    columns = ["CPU per request, us", "ours", "theirs", "theirs/ours", "target"]
    return render("Beside others", columns, rows), verdicts


def _cost(port: int, pids: object, make: Make, effort: Effort, most: int = 200) -> float:
    assert callable(pids)
    numbers: Iterator[int] = itertools.count(500_000)
    amount = min(effort.most, most)
    # Sequential: the textbook's transactions fail under concurrent writes.
    client.load(port, make, numbers, min(20, amount), connections=1)
    costs = []
    for _ in range(effort.rounds):
        before = machine.cpu_seconds(pids())
        client.load(port, make, numbers, amount, connections=1)
        costs.append((machine.cpu_seconds(pids()) - before) / amount * 1e6)
    return median(costs)


@contextmanager
def _textbook(python: str, file: Path) -> Iterator[tuple[int, int]]:
    server = Server([python, str(TEXTBOOK), str(file), TOKEN])
    try:
        yield server.port, server.pids()[0]
    finally:
        server.stop()
