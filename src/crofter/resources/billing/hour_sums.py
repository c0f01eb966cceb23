"""Sums of many meters at any moment of an hour, computed once per hour.

An hour of a meter begins at its own minute, so within an hour of the clock its line grows at most once, at a known
moment. A sum over thousands of lines is therefore a list of moments with the sum after each, and a read is a search in
that list. It is valid until the end of the hour, or until a meter or tag of the account changes, which changes its
revision. The list is built at the second request; for the first, the database computes the sum of that moment.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from itertools import accumulate
from typing import Generic, TypeVar

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import revisions

MOST_STEPS = 1_000_000
"""Maximum number of steps in a process; each takes 16 bytes."""
MOST_KEPT = 4096
"""Accounts of which anything is remembered."""


class Growing:
    """A sum of lines that is being made."""

    def __init__(self) -> None:
        self.start = 0
        self.growth: defaultdict[int, int] = defaultdict(int)

    def add(self, phase: int, before: int, after: int) -> None:
        """A line, or several that grow at the same moment of the hour: ``before`` it, and ``after``."""
        self.start += before
        if after != before:
            self.growth[phase] += after - before


class Steps:
    """A sum of lines at any moment of an hour."""

    __slots__ = ("_hour", "_phases", "_totals")

    def __init__(self, hour: int, lines: Growing) -> None:
        self._hour = hour
        grown = lines.growth
        self._phases = array("q", sorted(grown))
        self._totals = array("q", accumulate((grown[phase] for phase in self._phases), initial=lines.start))

    def __len__(self) -> int:
        return len(self._totals)

    def at(self, moment: int) -> int:
        """A begun hour counts from the moment after the one at which it begins, as everywhere."""
        return self._totals[bisect_left(self._phases, moment - self._hour)]


def hour_of(moment: int) -> int:
    return moment - moment % clock.HOUR


class Kept(Struct):
    """Last request of an account, with revision and hour, and the sums from the second request on."""

    revision: int
    hour: int
    sums: object = None
    steps: int = 0


S = TypeVar("S")


class HourSums(Generic[S]):
    """Sums of the most recently used accounts."""

    def __init__(self, make: Callable[[Context, int], S], size: Callable[[S], int]) -> None:
        self._make = make
        self._size = size
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._steps = 0
        self._lock = threading.Lock()

    def find(self, ctx: Context) -> S | None:
        """None if they are not worth making, or if this transaction may have changed something itself."""
        if ctx.db.journal is not None or ctx.runtime.database.holds_writer_lock:
            return None
        # Before anything else is read: what commits meanwhile is then found out of date, and never taken for newer.
        revision, hour = revisions.current(ctx.db, ctx.account_id), hour_of(ctx.now)
        if revision is None:
            return None
        kept = self._kept.get(ctx.account_id)
        if kept is None or kept.revision != revision or kept.hour != hour:
            self._keep(ctx.account_id, Kept(revision, hour))
            return None
        if kept.sums is None:
            sums = self._make(ctx, hour)
            kept = Kept(revision, hour, sums, self._size(sums))
            self._keep(ctx.account_id, kept)
        return kept.sums  # type: ignore[return-value]

    def _keep(self, account_id: int, kept: Kept) -> None:
        with self._lock:
            former = self._kept.pop(account_id, None)
            self._kept[account_id] = kept
            self._steps += kept.steps - (former.steps if former else 0)
            while len(self._kept) > 1 and (self._steps > MOST_STEPS or len(self._kept) > MOST_KEPT):
                self._steps -= self._kept.popitem(last=False)[1].steps
