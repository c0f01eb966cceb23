"""Limit of the work in one turn of the event loop, so that the next turn starts soon.

All requests that have arrived are handled in one turn, and later arrivals wait for its end: after a thousand requests a
new connection or a health check would wait for seconds. So a turn takes the work of a short time. The rest waits in
order of arrival, and is refused after too long a wait.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import cached_property

from msgspec import Struct

from crofter.errors import Unavailable

TURN_SECONDS = 0.05
"""A new connection needs three turns until it is answered."""
MAX_WAIT_SECONDS = 1.0
"""Seconds of waiting after which a request is refused with 503."""
REFUSALS = 4
"""Number of refusals that take as long as a response."""
FEWEST, MOST = 4, 256
"""Requests that are taken on in one turn out of those that wait."""


class _Waiting(Struct, eq=False):
    taken_on: asyncio.Future[bool]
    since: float


class Turns:
    """The turns of one event loop. Used on it only."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._waiting: deque[_Waiting] = deque()
        self._share = 32.0
        """How many of those who wait a turn takes on; as many as turns have been found to be able to do."""

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def has_capacity(self, now: float) -> bool:
        """True if the request may run now; otherwise the caller awaits ``wait()``. Waiters keep their order."""
        if self._began is None:
            self._began = now
            self._loop.call_soon(self._next)
            return True
        return not self._waiting and now - self._began <= TURN_SECONDS

    async def wait(self, now: float) -> None:
        """Until a turn takes it on; Unavailable if that takes too long."""
        waiting = _Waiting(self._loop.create_future(), now)
        self._waiting.append(waiting)
        if not await waiting.taken_on:
            raise Unavailable

    def _next(self) -> None:
        """A turn is over. What is taken on here runs in the next one, before this is called again."""
        if not self._waiting:
            self._began = None
            return
        now = time.perf_counter()
        assert self._began is not None
        self._share = min(MOST, max(FEWEST, self._share * _correction(now - self._began)))
        self._began = now
        self._take_on(now)
        self._loop.call_soon(self._next)

    def _take_on(self, now: float) -> None:
        left = self._share
        while self._waiting and left > 0:
            waiting = self._waiting.popleft()
            if waiting.taken_on.done():  # its client has gone
                continue
            in_time = now - waiting.since <= MAX_WAIT_SECONDS
            left -= 1 if in_time else 1 / REFUSALS
            waiting.taken_on.set_result(in_time)


def _correction(turn: float) -> float:
    """How much more, or less, the next turn should take on than one that took so long; not too much at once."""
    return min(1.25, max(0.5, TURN_SECONDS / max(turn, 1e-6)))
