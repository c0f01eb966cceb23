"""Port to query hosts for the usage of instances within a time limit."""

from __future__ import annotations

import time

from crofter.context import Runtime
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable, Usage
from crofter.resources.instances import hypervisor_client

LIMIT = 10.0
"""Real seconds that a request waits for all hosts together. Missing values then count as unreachable."""


def deadline() -> float:
    """Return the moment at which queries from now on must be answered."""
    return time.monotonic() + LIMIT


def history(runtime: Runtime, ref: DomainRef, start: int, stop: int, step: int, *, until: float) -> tuple[Usage, ...]:
    """Return the usage of a machine in points of ``step`` milliseconds.

    Raises Absent if it does not exist yet, and Unreachable if its host has not answered by ``until``.
    """
    left = until - time.monotonic()
    if left <= 0:
        raise Unreachable("The hosts took too long to answer.")
    return hypervisor_client.hypervisor(runtime).history(ref, start, stop, step, timeout=left)


def traffic_of(
    runtime: Runtime, instance_id: int, host: int | None, start: int, stop: int, *, until: float | None = None
) -> int:
    """Bytes that went in and out over the public network. Raises Unreachable as above."""
    if host is None or start >= stop:
        return 0
    try:
        ref, until = DomainRef(host, instance_id), deadline() if until is None else until
        points = history(runtime, ref, start, stop, stop - start, until=until)
    except Absent:
        return 0
    return sum(point.ipv4_in + point.ipv6_in + point.ipv4_out + point.ipv6_out for point in points)
