"""The engine's counts, as the metrics page shows them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from crofter.context import World
from crofter.engine.metrics import depth
from crofter.engine.worker import Worker
from crofter.errors import Problem


class EngineCollector(Collector):
    def __init__(self, world: World, worker: Worker) -> None:
        self._world = world
        self._worker = worker

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        counted = CounterMetricFamily(
            "crofter_operations", "Operations of this process, by what became of them.", labels=["what"]
        )
        for name, amount in sorted(self._worker.metrics.snapshot().items()):
            counted.add_metric([name], amount)
        yield counted
        waiting = GaugeMetricFamily("crofter_queue_depth", "Operations not yet ended.", labels=["lane", "state"])
        oldest = GaugeMetricFamily(
            "crofter_queue_age_seconds", "House time since the oldest fell due.", labels=["lane"]
        )
        try:
            with self._world.database.read() as db:
                rows = depth(db)
        except Problem:
            return  # the database is away; readiness says so
        now = self._world.clock.now()
        ages: dict[str, float] = {}
        for row in rows:
            waiting.add_metric([row.lane, row.state], row.amount)
            ages[row.lane] = max(ages.get(row.lane, 0.0), (now - row.oldest_due) / 1000)
        for lane, age in ages.items():
            oldest.add_metric([lane], age)
        yield waiting
        yield oldest
