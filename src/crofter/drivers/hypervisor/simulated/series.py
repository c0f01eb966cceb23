"""Usage of simulated machines: smooth, plausible and reproducible."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from crofter.clock import DAY, HOUR, MINUTE, SECOND
from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger import observed
from crofter.drivers.hypervisor.ledger.entries import digest
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.reports import Usage
from crofter.drivers.hypervisor.specs import DomainRef

PERIODS = (DAY, 7 * DAY, 3 * HOUR, 47 * MINUTE, 13 * MINUTE)
SWINGS = (0.35, 0.15, 0.2, 0.12, 0.08)
"""How far each period swings about the mean. Less than 1 together: a machine never gives bytes back."""

MEANS = {
    "cpu": (20, 350),
    "io": (1, 60),
    "swap": (0, 2),
    "ipv4_in": (2_000, 60_000),
    "ipv4_out": (4_000, 120_000),
    "ipv4_private_in": (100, 4_000),
    "ipv4_private_out": (100, 4_000),
    "ipv6_in": (100, 8_000),
    "ipv6_out": (200, 9_000),
    "ipv6_private_in": (0, 10),
    "ipv6_private_out": (0, 10),
}
"""Lowest and highest mean per second of each measure; cpu is in milliseconds per processor."""


class Wave(Struct, frozen=True):
    """A rate that goes up and down. Its integral is known, so counters and averages agree to the last byte."""

    mean: float
    phases: tuple[float, ...]

    def total(self, moment: int) -> float:
        """The amount from the beginning of time to ``moment``."""
        swing = 0.0
        for period, share, phase in zip(PERIODS, SWINGS, self.phases, strict=True):
            turn = 2 * math.pi / period
            swing -= share / turn * math.cos(turn * (moment % period) + phase)
        return self.mean * (moment + swing) / SECOND


@lru_cache(maxsize=4096)
def wave(measure: str, domain: int) -> Wave:
    rng = digest("wave", measure, domain)
    low, high = MEANS[measure]
    mean = low + (high - low) * int(rng[:4], 16) / 0xFFFF
    phases = tuple(2 * math.pi * int(rng[4 + 4 * at : 8 + 4 * at], 16) / 0xFFFF for at in range(len(PERIODS)))
    return Wave(mean, phases)


@lru_cache(maxsize=32768)
def count(measure: str, domain: int, moment: int) -> int:
    """A counter that never starts again. Whole at every moment, so that the parts of a span add up to it."""
    return math.floor(wave(measure, domain).total(moment))


def usage(domain: int, vcpus: int, runs: Iterable[tuple[int, int]], start: int, stop: int) -> Usage:
    """Return the usage between two moments of a machine that was on during ``runs``."""
    spans = [(max(begin, start), min(end, stop)) for begin, end in runs if end > start and begin < stop]
    amounts: dict[str, int] = {}
    for measure in MEANS:
        amounts[measure] = sum(count(measure, domain, end) - count(measure, domain, begin) for begin, end in spans)
    amounts["cpu"] *= vcpus
    return Usage(start, stop, **amounts)


def statistics(ledger: Ledger, ref: DomainRef) -> Usage:
    doc = observed.measured(ledger, ref)
    if not doc.on:
        return Usage(ledger.now, ledger.now)
    return usage(ref.id, doc.spec.vcpus, [(doc.since, ledger.now)], doc.since, ledger.now)


def history(ledger: Ledger, ref: DomainRef, start: int, stop: int, step: int) -> tuple[Usage, ...]:
    doc = observed.measured(ledger, ref)
    stop = min(stop, ledger.now)
    if step < 1 or (stop - start) // step > observed.POINTS:
        raise Refused("The history would have too many points.")
    runs = (*doc.runs, (doc.since, ledger.now)) if doc.on else doc.runs
    return tuple(
        usage(ref.id, doc.spec.vcpus, runs, begin, min(begin + step, stop)) for begin in range(start, stop, step)
    )
