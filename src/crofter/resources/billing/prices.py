"""What things cost that are no plan of the catalogue, in micro-dollars."""

from __future__ import annotations

from msgspec import Struct


class Price(Struct, frozen=True):
    """By the hour, and at most by the month."""

    hourly: int
    monthly: int

    def times(self, count: int) -> Price:
        return Price(self.hourly * count, self.monthly * count)


NOTHING = Price(0, 0)
ADDRESS = Price(1_500, 1_000_000)
"""Each public address after the first."""
MANAGED = Price(150_000, 100_000_000)
"""The managed service, for each instance."""
NODEBALANCER = Price(15_000, 10_000_000)
VOLUME = Price(150, 100_000)
"""Each gigabyte."""
TRANSFER = 10_000
"""Each gigabyte of traffic beyond what the plans give."""
