"""Statistics of a managed account."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

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
    """What all instances of the account used together over the last day."""

    data: ManagedStatsData
