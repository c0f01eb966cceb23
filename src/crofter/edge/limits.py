"""Rate limits on the house clock: the strategy is the ``limits`` library's, the counters are kept here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from limits import RateLimitItem, parse
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from crofter.clock import Clock
from crofter.errors import TooMany

_MANY = 20_000
"""So many counters are kept at most: somebody who makes up tokens must not fill our memory."""


class HouseStorage(Storage):
    """Counters in memory that run out by the house clock."""

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


class Standing(NamedTuple):
    """Where a caller stands, for the headers of every answer."""

    limit: int
    remaining: int
    reset: int
    seconds: int


class RateLimits:
    """Named limits. A name without a limit is never exceeded; its headers show ``shown``."""

    def __init__(self, clock: Clock, configured: Mapping[str, str], shown: str) -> None:
        self._clock = clock
        self._limits: dict[str, RateLimitItem] = {name: parse(text) for name, text in configured.items()}
        self._shown = parse(shown)
        self._window = FixedWindowRateLimiter(HouseStorage(clock))
        self._idle: tuple[int, Standing] = (-1, Standing(0, 0, 0, 0))

    def clear(self) -> None:
        self._window.storage.reset()

    def hit(self, name: str, caller: Any) -> Standing:
        """Count one request of ``caller``; TooMany carries the standing that refuses it."""
        item = self._limits.get(name)
        if name != "general" and "general" in self._limits:
            self._count("general", self._limits["general"], caller)
        if item is None:
            return self.unlimited()
        return self._count(name, item, caller)

    def _count(self, name: str, item: RateLimitItem, caller: Any) -> Standing:
        allowed = self._window.hit(item, name, caller)
        stats = self._window.get_window_stats(item, name, caller)
        now = self._clock.now() / 1000
        standing = Standing(
            item.amount, stats.remaining, int(stats.reset_time), max(0, int(stats.reset_time - now + 0.999))
        )
        if not allowed:
            problem = TooMany()
            problem.standing = standing  # type: ignore[attr-defined]
            raise problem
        return standing

    def unlimited(self) -> Standing:
        second = self._clock.now() // 1000
        if self._idle[0] != second:
            window = self._shown.get_expiry()
            reset = (second // window + 1) * window
            amount = self._shown.amount
            self._idle = (second, Standing(amount, amount, reset, reset - second))
        return self._idle[1]
