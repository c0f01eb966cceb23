"""Counters of requests and engine, as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from crofter import mail
from crofter.certificates import of_installation
from crofter.context import Runtime
from crofter.db import Session, meta
from crofter.drivers.hypervisor import DriverError
from crofter.drivers.hypervisor.ledger.fleet import BLOCK
from crofter.drivers.hypervisor.libvirt import fleet, planning
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger
from crofter.edge.observe import BUCKETS, Counts
from crofter.engine.metrics import COUNTED, Overview, depth, overview
from crofter.engine.worker import Worker
from crofter.errors import Problem
from crofter.resources.domains import store as domains

MEBIBYTE = 1 << 20
LAST_BACKUP = "last_backup"
"""The service time of the last backup, among the facts about the system."""
ANSWERS = "Whether the database answered this look; without it there are no gauges of queues and workers."


def render(counts: Counts, runtime: Runtime, worker: Worker, parts: Callable[[], dict[str, bool]]) -> bytes:
    """``parts``: which parts of this process can do their work."""
    registry = CollectorRegistry()
    registry.register(InstallationCollector(runtime, parts))
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
        # Start all counters at zero: an increase from absent to one is invisible to rate functions.
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
    """Yield gauges from the database, equal in every process."""
    yield GaugeMetricFamily("crofter_workers", "Living processes that run operations.", value=whole.workers)
    yield GaugeMetricFamily(
        "crofter_operations_stuck",
        "Operations that have been due for more than a minute, or are under way at a dead process.",
        value=whole.stuck,
    )
    yield GaugeMetricFamily(
        "crofter_operations_failed", "Operations that failed within the last day.", value=whole.failed
    )


class InstallationCollector(Collector):
    """Metrics for the operator: hosts, capacity, certificates, mails, backups, and failing parts."""

    def __init__(self, runtime: Runtime, parts: Callable[[], dict[str, bool]]) -> None:
        self._runtime = runtime
        self._parts = parts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        ready = GaugeMetricFamily("crofter_ready", "Whether a part of this process can do its work.", labels=["part"])
        for part, works in self._parts().items():
            ready.add_metric([part], works)
        yield ready
        yield self._certificates()
        try:
            yield self._hosts()
            with self._runtime.database.read() as db:
                yield from self._capacity(db)
                yield from self._waiting(db)
        except (Problem, DriverError):
            return  # crofter_database_up says so

    def _certificates(self) -> GaugeMetricFamily:
        ends = GaugeMetricFamily(
            "crofter_certificate_expiry_timestamp_seconds", "When a certificate ends.", labels=["whose"]
        )
        settings = self._runtime.settings
        for certificate in of_installation(settings.folder, settings.tls_certificate):
            ends.add_metric([certificate.whose], certificate.ends.timestamp())
        return ends

    def _hosts(self) -> GaugeMetricFamily:
        hosts = GaugeMetricFamily("crofter_hosts", "Hosts by their state.", labels=["region", "state"])
        fleet_now = self._runtime.hypervisor.hosts()
        for region in sorted({host.region for host in fleet_now}):
            for state in ("up", "maintenance", "unreachable"):
                amount = sum(host.region == region and host.state == state for host in fleet_now)
                hosts.add_metric([region, state], amount)
        return hosts

    def _capacity(self, db: Session) -> Iterator[GaugeMetricFamily]:
        labels = ["host", "region", "what"]
        memory = GaugeMetricFamily("crofter_host_memory_bytes", "Memory for machines of a real host.", labels=labels)
        disk = GaugeMetricFamily("crofter_host_disk_bytes", "Disk space for machines of a real host.", labels=labels)
        ledger = HostLedger(db, self._runtime.clock, fleet.load(db))
        for host in ledger.fleet.entries.values():
            if host.state == "lost":
                continue
            name = str(host.id % BLOCK)
            memory.add_metric([name, host.region, "total"], host.memory * MEBIBYTE)
            memory.add_metric([name, host.region, "used"], planning.used_memory(ledger, host.id) * MEBIBYTE)
            disk.add_metric([name, host.region, "total"], host.disk * MEBIBYTE)
            disk.add_metric([name, host.region, "used"], planning.used_disk(ledger, host.id) * MEBIBYTE)
        yield memory
        yield disk

    def _waiting(self, db: Session) -> Iterator[GaugeMetricFamily]:
        now = self._runtime.clock.now()
        amount, oldest = mail.waiting(db)
        yield GaugeMetricFamily("crofter_mails_waiting", "Mails that the mail server has not taken yet.", value=amount)
        age = 0.0 if oldest is None else (now - oldest) / 1000
        yield GaugeMetricFamily("crofter_mail_age_seconds", "Service time since the oldest was written.", value=age)
        backup = GaugeMetricFamily("crofter_backup_age_seconds", "Service time since the last backup.")
        if (taken := meta.get(db, LAST_BACKUP)) is not None:
            backup.add_metric([], (now - int(taken)) / 1000)
        yield backup
