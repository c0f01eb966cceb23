"""Cost of requests in accounts of several sizes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bench.measuring import Candidate, Effort, microseconds
from bench.processes import Server
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import GROWTH, Growth


def growth(
    filled: Sequence[Store],
    sizes: Sequence[int],
    effort: Effort,
    asked: Sequence[Growth] = GROWTH,
    series: dict[str, list[tuple[int, float]]] | None = None,
) -> tuple[str, list[Verdict]]:
    """``series`` takes up what was measured, by name, for a picture."""
    servers: list[Server] = []
    rows, verdicts = [], []
    try:
        servers += [store.server() for store in filled]
        for kind in asked:
            candidates = [Candidate(server, kind.make(size)) for server, size in zip(servers, sizes, strict=True)]
            costs = [cost.both for cost in microseconds(candidates, effort, itertools.count(1))]
            if series is not None:
                series[kind.name] = list(zip(sizes, costs, strict=True))
            verdicts.append(Verdict(costs[-1] / costs[0], kind.target))
            rows.append([kind.name, *(f"{cost:.0f}" for cost in costs), *verdicts[-1].cells()])
    finally:
        for server in servers:
            server.stop()
    columns = ["CPU per request, us", *(f"{size:,} rows" for size in sizes), "last/first", "target", ""]
    return render("Growth with one account", columns, rows), verdicts
