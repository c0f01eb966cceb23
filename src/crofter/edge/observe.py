"""One line in the log and one count in the metrics for each request; never a secret."""

from __future__ import annotations

import sys
from typing import Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram

from crofter.clock import Clock, text
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Answer

_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, omit_defaults=True):
    """What may be logged of a request: no body, no query, no header."""

    time: str
    request: str
    method: str
    path: str
    status: int
    ms: float
    address: str = ""
    user: str | None = None
    token: int | None = None
    operation: str | None = None


class Observer:
    def __init__(self, clock: Clock, *, lines: TextIO | None = sys.stderr, pretty: bool = False) -> None:
        self.registry = CollectorRegistry()
        self._clock = clock
        self._lines = lines
        self._pretty = pretty
        labels = ("method", "route", "status")
        self._requests = Counter("crofter_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "crofter_request_seconds",
            "Time from the request's arrival to its answer.",
            ("route",),
            buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
            registry=self.registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}

    def request(self, scope: Any, endpoint: Endpoint | None, answer: Answer, request_id: str, seconds: float) -> None:
        route = endpoint.path if endpoint else "-"
        key = (scope["method"], route, answer.status)
        counters = self._children.get(key)
        if counters is None:
            method = key[0] if endpoint else "-"  # a stranger's made-up method must not become a label
            counters = (self._requests.labels(method, route, answer.status), self._seconds.labels(route))
            if endpoint is not None:
                self._children[key] = counters
        counters[0].inc()
        counters[1].observe(seconds)
        if self._lines is not None:
            self._write(scope, endpoint, answer, request_id, seconds)

    def _write(self, scope: Any, endpoint: Endpoint | None, answer: Answer, request_id: str, seconds: float) -> None:
        assert self._lines is not None
        actor = answer.actor
        line = Line(
            time=text(self._clock.now()),
            request=request_id,
            method=scope["method"],
            path=scope["path"],
            status=answer.status,
            ms=round(seconds * 1000, 2),
            address=scope["client"][0] if scope.get("client") else "",
            user=actor.username if actor else None,
            token=actor.token_id if actor else None,
            operation=endpoint.name if endpoint else None,
        )
        try:
            self._lines.write(_pretty(line) if self._pretty else _encode(line).decode() + "\n")
        except (OSError, ValueError):
            self._lines = None  # nobody reads the log any more; serving goes on


def _pretty(line: Line) -> str:
    path = line.path.encode("unicode_escape").decode()  # no control characters on a terminal
    who = line.user or "-"
    return f"{line.time} {line.status} {line.method:<6} {path} {line.ms} ms {who} {line.request}\n"
