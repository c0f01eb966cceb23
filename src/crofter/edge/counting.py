"""Counters for rate limits: the strategy is the ``limits`` library's, the counters are kept here.

Imported only where limits are set, since the library takes longer to load than all the rest of the edge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from limits import RateLimitItem, parse
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from crofter.clock import Clock

_MANY = 20_000
"""Maximum number of counters, so that invented tokens cannot fill the memory."""


class ClockStorage(Storage):
    """Counters in memory that run out by the service clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._counters: dict[str, tuple[int, float]] = {}

    @property
    def base_exceptions(self) -> type[Exception]:
        return KeyError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        now = self._clock.now() / 1000
        count, until = self._counters.get(key, (0, 0.0))
        if until <= now:
            if len(self._counters) >= _MANY:
                self._forget(now)
            count, until = 0, now + expiry
        self._counters[key] = (count + amount, until)
        return count + amount

    def decr(self, key: str) -> None:
        count, until = self._counters.get(key, (0, 0.0))
        if count:
            self._counters[key] = (count - 1, until)

    def _forget(self, now: float) -> None:
        """Drop what ran out, and if that is not enough, the half that runs out first."""
        left = {name: item for name, item in self._counters.items() if item[1] > now}
        if len(left) >= _MANY:
            left = dict(sorted(left.items(), key=lambda pair: pair[1][1])[_MANY // 2 :])
        self._counters = left

    def get(self, key: str) -> int:
        count, until = self._counters.get(key, (0, 0.0))
        return count if until > self._clock.now() / 1000 else 0

    def get_expiry(self, key: str) -> float:
        return self._counters.get(key, (0, self._clock.now() / 1000))[1]

    def check(self) -> bool:
        return True

    def reset(self) -> int | None:
        count = len(self._counters)
        self._counters.clear()
        return count

    def clear(self, key: str) -> None:
        self._counters.pop(key, None)


class Count(NamedTuple):
    """Result of counting a request."""

    allowed: bool
    amount: int
    remaining: int
    reset: float


class Counting:
    """Counters with a window per limit and caller."""

    def __init__(self, clock: Clock) -> None:
        self._storage = ClockStorage(clock)
        self._window = FixedWindowRateLimiter(self._storage)

    @staticmethod
    def limit(text: str) -> RateLimitItem:
        return parse(text)

    def hit(self, item: RateLimitItem, name: str, caller: Any, weight: int = 1) -> Count:
        allowed = self._window.hit(item, name, caller, cost=weight)
        stats = self._window.get_window_stats(item, name, caller)
        return Count(allowed, item.amount, stats.remaining, stats.reset_time)

    def forgive(self, item: RateLimitItem, name: str, caller: Any) -> None:
        """Take back a counted request."""
        self._storage.decr(item.key_for(name, caller))

    def clear(self) -> None:
        self._storage.reset()
