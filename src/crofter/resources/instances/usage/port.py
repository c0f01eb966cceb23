"""The port through which a request asks hosts what instances used, within a time limit."""

from __future__ import annotations

import time

from crofter.context import Runtime
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable, Usage
from crofter.resources.instances import hypervisor_client

LIMIT = 10.0
"""Real seconds that a caller waits for all hosts together. Whatever is not known by then counts as unreachable."""


def deadline() -> float:
    """When everything that is asked from now on must be known."""
    return time.monotonic() + LIMIT


def history(runtime: Runtime, ref: DomainRef, start: int, stop: int, step: int, *, until: float) -> tuple[Usage, ...]:
    """What a machine used, in points of ``step`` milliseconds.

    Raises Absent if it is still to come, and Unreachable if it is not known what it used ``until`` then.
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
