"""Request log and request metrics, without secrets."""

from __future__ import annotations

import sys
from bisect import bisect_left
from typing import Any, TextIO

import msgspec

from crofter.clock import Clock, text
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Answer
from crofter.edge.redact import redact_path

_encode = msgspec.json.Encoder().encode

BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Line(msgspec.Struct, omit_defaults=True):
    """Line of the request log: no body, query or header."""

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


class Counts:
    """How many requests there were and how long they took, in plain numbers: only the event loop counts."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = {}
        self.seconds: dict[str, list[float]] = {}
        """For each route the requests in each bucket, and the sum of their times."""

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        key = (method, route, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        times = self.seconds.get(route)
        if times is None:
            times = self.seconds[route] = [0.0] * (len(BUCKETS) + 2)
        times[bisect_left(BUCKETS, seconds)] += 1
        times[-1] += seconds


class Observer:
    def __init__(
        self,
        clock: Clock,
        *,
        lines: TextIO | None = sys.stderr,
        pretty: bool = False,
        words: frozenset[str] = frozenset(),
    ) -> None:
        self._clock = clock
        self.words = words
        """Words that are safe to log in any path."""
        self._lines = lines
        self._pretty = pretty
        self.counts = Counts()

    def request(self, scope: Any, endpoint: Endpoint | None, answer: Answer, request_id: str, seconds: float) -> None:
        if endpoint is None:
            self.counts.add("-", "-", answer.status, seconds)  # invented paths must not become labels
        else:
            self.counts.add(scope["method"], endpoint.path, answer.status, seconds)
        if self._lines is not None:
            self._write(scope, endpoint, answer, request_id, seconds)

    def _write(self, scope: Any, endpoint: Endpoint | None, answer: Answer, request_id: str, seconds: float) -> None:
        assert self._lines is not None
        actor = answer.actor
        line = Line(
            time=text(self._clock.now()),
            request=request_id,
            method=scope["method"],
            path=redact_path(scope["path"], endpoint, self.words, refused=answer.problem is not None),
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
            self._lines = None  # the log's reader is gone; serving continues


def _pretty(line: Line) -> str:
    path = line.path.encode("unicode_escape").decode()  # no control characters on a terminal
    who = line.user or "-"
    return f"{line.time} {line.status} {line.method:<6} {path} {line.ms} ms {who} {line.request}\n"
