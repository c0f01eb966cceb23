"""What the requests and the engine have counted, as the metrics page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from crofter.context import Runtime
from crofter.edge.observe import BUCKETS, Counts
from crofter.engine.metrics import COUNTED, Overview, depth, overview
from crofter.engine.worker import Worker
from crofter.errors import Problem
from crofter.resources.domains import store as domains

ANSWERS = "Whether the database answered this look; without it there are no gauges of queues and workers."


def render(counts: Counts, runtime: Runtime, worker: Worker) -> bytes:
    registry = CollectorRegistry()
    registry.register(RequestCollector(counts))
    registry.register(EngineCollector(runtime, worker))
    return generate_latest(registry)


class RequestCollector(Collector):
    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[CounterMetricFamily | HistogramMetricFamily]:
        requests = CounterMetricFamily("crofter_requests", "Requests answered.", labels=("method", "route", "status"))
        for (method, route, status), amount in sorted(self._counts.requests.copy().items()):
            requests.add_metric((method, route, str(status)), amount)
        yield requests
        seconds = HistogramMetricFamily(
            "crofter_request_seconds", "Time from the request's arrival to its answer.", labels=("route",)
        )
        bounds = [*map(str, BUCKETS), "+Inf"]
        for route, (*amounts, total) in sorted(self._counts.seconds.copy().items()):
            seconds.add_metric((route,), list(zip(bounds, accumulate(amounts), strict=True)), total)
        yield seconds


class EngineCollector(Collector):
    def __init__(self, runtime: Runtime, worker: Worker) -> None:
        self._runtime = runtime
        self._worker = worker

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        counted = CounterMetricFamily(
            "crofter_operations", "Operations of this process, by what became of them.", labels=["what"]
        )
        # From zero on: who asks for an increase does not see the first of a count that begins with one.
        amounts = dict.fromkeys(COUNTED, 0) | self._worker.metrics.snapshot()
        for name, amount in sorted(amounts.items()):
            counted.add_metric([name], amount)
        yield counted
        yield GaugeMetricFamily(
            "crofter_clock_behind_seconds",
            "How far this machine's clock is behind the time that was told already.",
            value=self._runtime.clock.behind(),
        )
        yield GaugeMetricFamily(
            "crofter_clock_ahead_seconds",
            "How far the machine's clock jumped forward, while service time stands still for it.",
            value=self._runtime.clock.ahead(),
        )
        waiting = GaugeMetricFamily("crofter_queue_depth", "Operations not yet ended.", labels=["queue", "state"])
        oldest = GaugeMetricFamily(
            "crofter_queue_age_seconds", "Service time since the oldest fell due.", labels=["queue"]
        )
        now = self._runtime.clock.now()
        try:
            with self._runtime.database.read() as db:
                rows, whole = depth(db), overview(db, now)
                behind = domains.behind(db)
        except Problem:
            yield GaugeMetricFamily("crofter_database_up", ANSWERS, value=0)
            return
        yield GaugeMetricFamily("crofter_database_up", ANSWERS, value=1)
        ages: dict[str, float] = {}
        for row in rows:
            waiting.add_metric([row.queue, row.state], row.amount)
            ages[row.queue] = max(ages.get(row.queue, 0.0), (now - row.oldest_due) / 1000)
        for queue, age in ages.items():
            oldest.add_metric([queue], age)
        yield waiting
        yield oldest
        yield GaugeMetricFamily(
            "crofter_zones_behind", "Domains that the name servers do not know as they are now.", value=behind
        )
        yield from _gauges(whole)


def _gauges(whole: Overview) -> Iterator[GaugeMetricFamily]:
    """Read from the database, and so the same whichever process is asked."""
    yield GaugeMetricFamily("crofter_workers", "Living processes that run operations.", value=whole.workers)
    yield GaugeMetricFamily(
        "crofter_operations_stuck",
        "Operations that have been due for more than a minute, or are under way at a dead process.",
        value=whole.stuck,
    )
    yield GaugeMetricFamily(
        "crofter_operations_failed", "Operations that failed within the last day.", value=whole.failed
    )
