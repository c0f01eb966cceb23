"""Total usage of an account's instances over the last day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from crofter import clock
from crofter.context import Context
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable, Usage
from crofter.resources.instances import store
from crofter.resources.instances.usage import port
from crofter.shapes import View


class Point(View):
    x: Annotated[int, Meta(description="When, in milliseconds since 1970.")]
    y: int


class ManagedStatsData(View):
    """Per hour: percent of one processor, blocks and swapped blocks per second, bits per second in and out."""

    cpu: list[Point]
    disk: list[Point]
    net_in: list[Point]
    net_out: list[Point]
    swap: list[Point]


class ManagedStats(View):
    """Total usage of all instances of the account over the last day."""

    data: ManagedStatsData


SECONDS = clock.HOUR / clock.SECOND
BITS = 8
MOST = 200
"""Instances that are looked at; more would keep the caller waiting."""


def recent(ctx: Context) -> ManagedStats:
    sums: dict[str, dict[int, float]] = {name: defaultdict(float) for name in ManagedStatsData.__struct_fields__}
    for usage in _usage(ctx):
        for name, amount in _amounts(usage).items():
            sums[name][usage.start] += amount / SECONDS
    series = {name: [Point(x, round(y)) for x, y in sorted(points.items())] for name, points in sums.items()}
    return ManagedStats(ManagedStatsData(**series))


def _usage(ctx: Context) -> Iterator[Usage]:
    stop, until = ctx.now // clock.HOUR * clock.HOUR, port.deadline()
    ids = [number for number, _ in store.labels(ctx)[:MOST]]
    for instance in store.these(ctx, ids):
        if instance.host is None:
            continue
        where = DomainRef(instance.host, instance.id)
        try:
            yield from port.history(ctx.runtime, where, stop - clock.DAY, stop, clock.HOUR, until=until)
        except (Absent, Unreachable):
            continue  # not created yet or unreachable; the others are shown


def _amounts(usage: Usage) -> dict[str, float]:
    return {
        "cpu": usage.cpu / 10,  # milliseconds of a processor per second, as percent of one
        "disk": usage.io,
        "swap": usage.swap,
        "net_in": BITS * (usage.ipv4_in + usage.ipv6_in),
        "net_out": BITS * (usage.ipv4_out + usage.ipv6_out),
    }
