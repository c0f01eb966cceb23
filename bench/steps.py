"""Cost of a step of an operation: reboots without duration on a simulated hypervisor."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench import client, processes
from bench.accounts import asked, opened
from bench.client import request
from bench.measuring import Candidate, Effort, microseconds
from bench.processes import Cpu, Server, running
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import INSTANCES
from crofter.resources.instances.power.operations import REBOOT

STEPS = len(REBOOT.operation.steps)
STEP = 20.0
"""Times the ceiling's CPU that a step may cost at most, on PostgreSQL."""


def steps(store: Store, effort: Effort, folder: Path, amount: int) -> tuple[str, list[Verdict]]:
    """Reboots of ``amount`` instances in eight accounts: all that happens after they were accepted."""
    server = store.server()
    try:
        asked(server, "PUT", "/_sandbox/transitions", body={"*": {"seconds": 0}})
        contents = _reboots(server, amount)
        recorded = processes.record(server, contents[:1])
        asked(server, "POST", "/_sandbox/settle")
        cost = _of_all([_cost(server, contents) for _ in range(effort.rounds)])
        with running(processes.ceiling(recorded, folder)) as ceiling:
            [least] = microseconds([Candidate(ceiling, lambda _number: contents[0])], effort, itertools.count())
    finally:
        server.stop()
    verdict = Verdict(cost.server / least.server, STEP if store.database else None)
    row = ["one step of a reboot", f"{cost.server:.0f}", f"{cost.database:.0f}", f"{least.server:.0f}"]
    columns = ["CPU per step", "us", "database us", "ceiling us", "ratio", "target", ""]
    return render("Operations", columns, [[*row, *verdict.cells()]]), [verdict]


def _reboots(server: Server, amount: int) -> list[bytes]:
    """Requests that reboot instances which run by now."""
    tokens = opened(server)
    image = {
        "type": "g6-nanode-1",
        "region": "us-east",
        "image": "compute/debian11",
        "root_pass": "a-long-Winding-r0ad",
    }
    numbers = [
        (token, asked(server, "POST", INSTANCES, token, {**image, "label": f"stepped-{number:04}"})["id"])
        for number, token in zip(range(amount), itertools.cycle(tokens), strict=False)
    ]
    asked(server, "POST", "/_sandbox/settle")
    return [request("POST", f"{INSTANCES}/{number}/reboot", token, body=b"{}") for token, number in numbers]


def _cost(server: Server, contents: Sequence[bytes]) -> Cpu:
    asked(server, "POST", "/_sandbox/clock/freeze")  # work starts only when measured
    numbers: Iterator[int] = itertools.count()
    client.load(server.port, lambda number: contents[number], numbers, len(contents), connections=1)
    before = server.cpu_seconds()
    asked(server, "POST", "/_sandbox/settle")
    cost = server.cpu_seconds().since(before, len(contents) * STEPS)
    asked(server, "POST", "/_sandbox/clock/thaw")
    return cost


def _of_all(costs: Sequence[Cpu]) -> Cpu:
    return Cpu(median(cost.server for cost in costs), median(cost.database for cost in costs))
