"""Rate limits on the service clock, and how much of them each caller has left."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from crofter.clock import Clock
from crofter.edge.rate_windows import RateWindows
from crofter.errors import TooMany

if TYPE_CHECKING:
    from limits import RateLimitItem

    from crofter.db import Database
    from crofter.edge.counting import Counting
    from crofter.edge.shared_counting import SharedCounting

_SHOWN = re.compile(r"(\d+) per (\d+) (second|minute|hour|day)s?")
_MANY = 20_000
"""Maximum number of tokens cached as valid."""
_TELLING = 100
"""Number of leading characters that identify a token; an invented token may be as long as a header."""
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


class RateLimitStatus(NamedTuple):
    """How much of a limit is left, for the headers of every answer."""

    limit: int
    remaining: int
    reset: int
    seconds: int


class RateLimits:
    """Named limits. A name without a limit is never exceeded; its headers show ``shown``."""

    def __init__(
        self, clock: Clock, configured: Mapping[str, str], shown: str, database: Database | None = None
    ) -> None:
        """``database``: where processes that keep the limits together find each other, if it is one of several."""
        self._clock = clock
        self._limits: dict[str, RateLimitItem] = {}
        self._counting: Counting | None = None
        self._shared: SharedCounting | None = None
        self._good: set[str] = set()
        if configured:
            from crofter.edge.counting import Counting  # noqa: PLC0415

            self._counting = Counting(clock)
            if database is not None and database.dialect != "sqlite":
                from crofter.edge.shared_counting import SharedCounting  # noqa: PLC0415

                self._counting = self._shared = SharedCounting(clock, RateWindows(database))
            self._limits = {name: self._counting.limit(text) for name, text in configured.items()}
        match = _SHOWN.fullmatch(shown)
        assert match is not None
        self._amount, self._window = int(match[1]), int(match[2]) * _SECONDS[match[3]]
        self._idle: tuple[int, RateLimitStatus] = (-1, RateLimitStatus(0, 0, 0, 0))

    def clear(self) -> None:
        self._good.clear()
        if self._counting is not None:
            self._counting.clear()

    @property
    def shared(self) -> bool:
        """True if the limits are shared with other processes, so that ``prepare`` is needed."""
        return self._shared is not None

    async def prepare(self, name: str, token: str | None, address: str, weight: int = 1) -> None:
        """Before ``admit`` or ``hit``, with nothing else in between: agree with other processes on what is left."""
        if self._shared is None:
            return
        general, own = self._limits.get("general"), self._limits.get(name)
        caller: str = address if token is None else f"token {token[:_TELLING]}"
        subjects: list[tuple[RateLimitItem, str, Any, int]] = []
        if general is not None:
            if token is not None and token[:_TELLING] not in self._good:
                subjects.append((general, "general", address, 1))
            subjects.append((general, "general", caller, weight))
        if own is not None and name != "general":
            subjects.append((own, name, caller, 1))
        await self._shared.prepare(subjects)

    def admit(self, name: str, token: str | None, address: str, weight: int = 1) -> tuple[RateLimitStatus, bool]:
        """Count a request by its token, and by its address too while the token is not known to be valid.

        Otherwise a client that invents a token for each request would never be stopped. Return whether the address was
        charged, which counts a single request for any ``weight``: a request with an invented token is refused
        before it costs anything.
        """
        if self._counting is None:
            return self.unlimited(), False
        if token is None:
            return self.hit(name, address, weight), False
        token = token[:_TELLING]
        charged = token not in self._good
        if charged:
            self.hit("general", address)
        return self.hit(name, f"token {token}", weight), charged

    def record_token(self, token: str | None, address: str, *, charged: bool, good: bool) -> None:
        """Record whether an admitted token was valid. A valid token takes back the charge of its address."""
        if token is None or self._counting is None:
            return
        token = token[:_TELLING]
        if not good:
            self._good.discard(token)
            return
        if len(self._good) >= _MANY:
            self._good.clear()
        self._good.add(token)
        if charged and "general" in self._limits:
            self._counting.forgive(self._limits["general"], "general", address)

    def hit(self, name: str, caller: Any, weight: int = 1) -> RateLimitStatus:
        """Count one request of ``caller``, as ``weight`` of the general limit; TooMany carries the status."""
        if self._counting is None:
            return self.unlimited()
        item = self._limits.get(name)
        if name != "general" and "general" in self._limits:
            self._count(self._counting, "general", self._limits["general"], caller, weight)
            weight = 1
        if item is None:
            return self.unlimited()
        return self._count(self._counting, name, item, caller, weight)

    def _count(
        self, counting: Counting, name: str, item: RateLimitItem, caller: Any, weight: int = 1
    ) -> RateLimitStatus:
        count = counting.hit(item, name, caller, weight)
        left = min(item.get_expiry(), max(0, int(count.reset - self._clock.now() / 1000 + 0.999)))
        rate_status = RateLimitStatus(count.amount, count.remaining, int(count.reset), left)
        if not count.allowed:
            problem = TooMany()
            problem.rate_status = rate_status  # type: ignore[attr-defined]
            raise problem
        return rate_status

    def unlimited(self) -> RateLimitStatus:
        second = self._clock.now() // 1000
        if self._idle[0] != second:
            reset = (second // self._window + 1) * self._window
            self._idle = (second, RateLimitStatus(self._amount, self._amount, reset, reset - second))
        return self._idle[1]
