"""Waiting without polling: bells that ring on the event loop when a topic is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from crofter.db.signals import Signals
from crofter.errors import TooMany

WAITERS = 100
"""Maximum number of waiters per topic in a process. Each signal wakes all of them."""
CROWDED = f"Too many requests are waiting: at most {WAITERS} at a time"


class Waiter:
    """Rung when its topic is heard, or when the server closes."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, seconds: float) -> None:
        """Until rung or until the time is up; what happened is for the caller to look up."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()


class Hub:
    """Waiters of this process, by topic."""

    def __init__(self, signals: Signals, topics: tuple[str, ...]) -> None:
        self._waiters: dict[str, set[Waiter]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False
        self.poll = 15.0
        """Seconds after which a waiter looks again though it heard nothing."""
        self._stops = [signals.listen(topic, self._heard) for topic in topics]

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.closing = False

    def close(self) -> None:
        self.closing = True
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    @property
    def waiting(self) -> int:
        return sum(len(waiters) for waiters in self._waiters.values())

    @contextmanager
    def watch(self, topic: str) -> Iterator[Waiter]:
        waiter = Waiter()
        if len(self._waiters.get(topic, ())) >= WAITERS:
            raise TooMany(CROWDED)
        self._waiters.setdefault(topic, set()).add(waiter)
        try:
            yield waiter
        finally:
            waiters = self._waiters[topic]
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[topic]

    def _heard(self, topic: str) -> None:
        """Called from any thread, after a commit."""
        if topic in self._waiters and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, topic)

    def _wake(self, topic: str) -> None:
        for waiter in self._waiters.get(topic, ()):
            waiter.wake()
