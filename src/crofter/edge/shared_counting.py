"""Rate limits shared by several processes: each takes portions of a caller's window from a shared row.

A process counts from its portion and takes the next when it is used up; portions are not returned. So all processes
together never admit more than the limit, and at least the limit less the unused last portions of the others. A portion
is 1/32 of the limit, or the need of the waiting requests if that is more; for limits below 64 it is exactly the need,
so these limits are exact.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from limits import RateLimitItem

from crofter.clock import MINUTE, SECOND, Clock
from crofter.db.database import TransactionConflict
from crofter.edge.counting import Count, Counting
from crofter.edge.rate_windows import RateWindows, Taken
from crofter.errors import Unavailable

log = logging.getLogger("crofter")

PORTIONS = 32
PATIENCE = 1.0
"""Seconds that a request waits for its portion; then it is counted by this process alone."""
AWAY = 5.0
"""Seconds between attempts on a database that did not answer."""
_TRIES = 20
_MANY = 20_000
"""Maximum number of portions, so that invented tokens cannot fill the memory."""

Subject = tuple[RateLimitItem, str, Any, int]
"""A limit, its name, who is counted, and as how many requests."""


class _Portion:
    """Portion of a caller's window held by this process."""

    __slots__ = ("left", "taken", "until")

    def __init__(self, left: int, taken: int, until: int) -> None:
        self.left = left
        self.taken = taken
        """Requests taken by all processes at the last update."""
        self.until = until


class _Request(NamedTuple):
    """Request for a portion from the shared row."""

    key: str
    item: RateLimitItem
    amount: int


class SharedCounting(Counting):
    """Used on the event loop; only the taking of portions is done on a thread."""

    def __init__(self, clock: Clock, windows: RateWindows) -> None:
        super().__init__(clock)
        self._clock = clock
        self._windows = windows
        self._portions: dict[str, _Portion] = {}
        self._waiting: dict[str, int] = {}
        self._taking: dict[str, asyncio.Future[None]] = {}
        self._away_until = 0.0
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="rate")

    def hit(self, item: RateLimitItem, name: str, caller: Any, weight: int = 1) -> Count:
        portion = self._current(item, item.key_for(name, caller))
        if portion is None or (portion.left < weight and portion.taken < item.amount):
            return super().hit(item, name, caller, weight)  # the database is away
        allowed = portion.left >= weight
        portion.left = max(0, portion.left - weight)  # a request that does not fit uses up the rest
        remaining = max(0, item.amount - portion.taken) + portion.left
        return Count(allowed, item.amount, remaining, portion.until / SECOND)

    def forgive(self, item: RateLimitItem, name: str, caller: Any) -> None:
        portion = self._current(item, item.key_for(name, caller))
        if portion is None:
            super().forgive(item, name, caller)
        else:
            portion.left += 1

    def clear(self) -> None:
        super().clear()
        self._portions.clear()

    def _current(self, item: RateLimitItem, key: str) -> _Portion | None:
        portion = self._portions.get(key)
        if portion is None:
            return None
        left = portion.until - self._clock.now()
        return portion if 0 < left <= item.get_expiry() * SECOND + MINUTE else None

    # ---- taking portions --------------------------------------------------------------------------------------------

    async def prepare(self, subjects: Sequence[Subject]) -> None:
        """See to it that each of them can be counted here, in this order, up to the first that has nothing left."""
        for _ in range(_TRIES):
            wanted = self._first_wanted(subjects)
            if wanted is None or time.monotonic() < self._away_until:
                return
            await self._wait_for_portion(*wanted)

    def _first_wanted(self, subjects: Sequence[Subject]) -> tuple[RateLimitItem, str, int] | None:
        for item, name, caller, weight in subjects:
            key = item.key_for(name, caller)
            portion = self._current(item, key)
            if portion is None or (portion.left < weight and portion.taken < item.amount):
                return item, key, weight
            if portion.left < weight:
                return None  # the request is refused for this one; for the others nothing is taken in vain
        return None

    async def _wait_for_portion(self, item: RateLimitItem, key: str, weight: int) -> None:
        """Take a portion, or wait for the task that takes one for the same caller: together they must not take too
        much.
        """
        self._waiting[key] = self._waiting.get(key, 0) + weight
        try:
            taking = self._taking.get(key)
            if taking is None:
                taking = self._taking[key] = asyncio.ensure_future(self._take(item, key))
            await asyncio.shield(taking)
        finally:
            self._waiting[key] -= weight
            if not self._waiting[key]:
                del self._waiting[key]

    async def _take(self, item: RateLimitItem, key: str) -> None:
        await asyncio.sleep(0)  # requests of the same loop turn are served together
        request = _Request(key, item, max(item.amount // PORTIONS, self._waiting.get(key, 1)))
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._ask, request)
        try:
            await asyncio.wait([work], timeout=PATIENCE)
            if work.done():
                self._keep(request, work.result())
            else:
                self._stay_away()
        except (Unavailable, TransactionConflict):
            self._stay_away()
        finally:
            del self._taking[key]

    def _stay_away(self) -> None:
        log.warning("the database does not answer; rate limits are counted by each process for a while")
        self._away_until = time.monotonic() + AWAY

    def _ask(self, request: _Request) -> Taken:
        return self._windows.take(request.key, request.amount, self._clock.now(), request.item.get_expiry() * SECOND)

    def _keep(self, request: _Request, row: Taken) -> None:
        limit = request.item.amount
        before = row.taken - request.amount
        granted = max(0, min(request.amount, limit - before))
        portion = self._current(request.item, request.key)
        left = portion.left if portion is not None and portion.until == row.until else 0
        if len(self._portions) >= _MANY:
            self._forget()
        self._portions[request.key] = _Portion(left + granted, min(limit, row.taken), row.until)

    def _forget(self) -> None:
        """Drop what ran out, and if that is not enough, the half that runs out first."""
        now = self._clock.now()
        left = {key: portion for key, portion in self._portions.items() if portion.until > now}
        if len(left) >= _MANY:
            left = dict(sorted(left.items(), key=lambda pair: pair[1].until)[_MANY // 2 :])
        self._portions = left
