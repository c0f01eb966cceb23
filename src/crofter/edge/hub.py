"""Waiting without polling: bells that ring on the event loop when a topic is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from crofter.db.signals import Signals
from crofter.errors import TooMany

WAITERS = 100
"""Who may wait for one topic in one process. Each of them looks again whenever it is heard."""
CROWDED = f"Too many requests are waiting: at most {WAITERS} at a time"


class Bell:
    """Rung when its topic is heard, or when the house closes."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        """Until rung or until the time is up; what happened is for the caller to look up."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._rung.wait()
        except TimeoutError:
            pass
        self._rung.clear()


class Hub:
    """Everybody who waits in this process, by topic."""

    def __init__(self, signals: Signals, topics: tuple[str, ...]) -> None:
        self._bells: dict[str, set[Bell]] = {}
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
        for bells in self._bells.values():
            for bell in bells:
                bell.ring()

    @property
    def waiting(self) -> int:
        return sum(len(bells) for bells in self._bells.values())

    @contextmanager
    def watch(self, topic: str) -> Iterator[Bell]:
        bell = Bell()
        if len(self._bells.get(topic, ())) >= WAITERS:
            raise TooMany(CROWDED)
        self._bells.setdefault(topic, set()).add(bell)
        try:
            yield bell
        finally:
            bells = self._bells[topic]
            bells.discard(bell)
            if not bells:
                del self._bells[topic]

    def _heard(self, topic: str) -> None:
        """Called from any thread, after a commit."""
        if topic in self._bells and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, topic)

    def _ring(self, topic: str) -> None:
        for bell in self._bells.get(topic, ()):
            bell.ring()
