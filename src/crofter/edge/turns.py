"""How much of the work one turn of the event loop takes on, so that the next turn is never far.

All requests that have arrived are handled in one turn, and whatever arrives meanwhile waits for its end: with a
thousand of them a new connection, or a health check, would wait for seconds. So a turn takes on what it can do in a
short while. The rest waits in the order in which it came, and is sent away if it has waited for too long.
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
"""Who has waited so long for a turn is told to come back later."""
REFUSALS = 4
"""So many are sent away in the time in which one is answered."""
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
        """Whether this turn takes the request on; else it has to ``wait``. Nobody overtakes those who wait."""
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
