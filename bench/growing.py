"""Costs that grow with the account: lists of restricted users, the month's bill, plans; on SQLite."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

from bench import client, filling
from bench.accounts import asked
from bench.client import Make, request
from bench.measuring import Candidate, Effort, microseconds
from bench.processes import TOKEN, Server
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import INSTANCES, create_instance

GRANTS, BILLED = (100, 1_000, 10_000), 8_000


def limits(
    folder: Path, effort: Effort, grants: tuple[int, ...] = GRANTS, billed: int = BILLED
) -> tuple[str, list[Verdict]]:
    rows = [*_restricted(folder, effort, grants), *_planned(folder, effort), *_billed(folder, billed)]
    return render("What grows", ["", "figure", "beside"], rows), []


def _restricted(folder: Path, effort: Effort, grants: tuple[int, ...]) -> list[list[str]]:
    """A page of a list, by how many objects its reader was granted one by one."""
    store = Store(folder / "granted")
    store.server().stop()
    filling.fill_sqlite(store.folder, 0, grants[-1])
    server = store.server()
    try:
        rows = []
        for amount in grants:
            name = f"granted-{amount}"
            user = {"username": name, "email": f"{name}@example.com", "restricted": True}
            asked(server, "POST", "/v4/account/users", body=user)
            given = [{"id": number, "permissions": "read_only"} for number in range(1, amount + 1)]
            asked(server, "PUT", f"/v4/account/users/{name}/grants", body={"compute": given})
            token = asked(server, "POST", "/_sandbox/tokens", body={"username": name, "scopes": "*"})["token"]
            page: Make = _same(request("GET", INSTANCES, token))
            [cost] = microseconds([Candidate(server, page)], effort, itertools.count())
            rows.append([f"list 100 of {grants[-1]:,}, with {amount:,} grants", f"{cost.server:.0f} us", ""])
        page = _same(request("GET", INSTANCES, TOKEN))
        [whole] = microseconds([Candidate(server, page)], effort, itertools.count())
        return [[name, figure, f"unrestricted {whole.server:.0f} us"] for name, figure, _ in rows]
    finally:
        server.stop()


def _same(content: bytes) -> Make:
    return lambda _number: content


def _planned(folder: Path, effort: Effort) -> list[list[str]]:
    server = Store(folder / "granted").server()

    def plan(number: int) -> bytes:
        return create_instance(number).replace(b"\r\nauthorization:", b"\r\nprefer: plan\r\nauthorization:", 1)

    try:
        both = [Candidate(server, plan), Candidate(server, create_instance)]
        planned, done = microseconds(both, effort, itertools.count(1))
    finally:
        server.stop()
    return [["POST create instance with Prefer: plan", f"{planned.server:.0f} us", f"done {done.server:.0f} us"]]


def _billed(folder: Path, amount: int) -> list[list[str]]:
    """Measure the end of a month, and the longest delay of other writers meanwhile."""
    server = Store(folder / "billed").server()
    try:
        asked(server, "POST", "/_sandbox/clock/freeze")
        client.load(server.port, create_instance, itertools.count(1), amount)
        other = asked(server, "POST", "/_sandbox/accounts")["token"]
        waits: list[float] = []
        over = threading.Event()
        visitor = threading.Thread(target=_visit, args=(server, other, waits, over))
        visitor.start()
        before, began = server.cpu_seconds().both, time.perf_counter()
        asked(server, "POST", "/_sandbox/clock/advance", body={"seconds": 32 * 86_400})
        took, cpu = time.perf_counter() - began, server.cpu_seconds().both - before
        over.set()
        visitor.join()
    finally:
        server.stop()
    beside = f"CPU {cpu:.2f} s; another writer waited {max(waits, default=0.0):.2f} s at most"
    return [[f"32 days with {amount:,} instances, one invoice", f"{took:.2f} s", beside]]


def _visit(server: Server, token: str, waits: list[float], over: threading.Event) -> None:
    for number in itertools.count():
        if over.wait(0.05):
            return
        began = time.perf_counter()
        client.send(server.port, _tag(number, token))
        waits.append(time.perf_counter() - began)


def _tag(number: int, token: str) -> bytes:
    body: dict[str, Any] = {"label": f"waited-{number}"}
    return request("POST", "/v4/tags", token, body=json.dumps(body).encode())
