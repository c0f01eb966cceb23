"""Notification of waiters about commits: in this process, and in the others on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

Listener = Callable[[str], None]


class Signals:
    """Topics are hints to look again, never the truth itself: a lost one costs a poll, not an event."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to hear other processes, where there are any."""

    def listen(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call ``listener(topic)`` for each topic ``name`` or ``name:…``; returns how to stop."""
        with self._lock:
            self._listeners.setdefault(name, []).append(listener)

        def stop() -> None:
            with self._lock:
                self._listeners[name].remove(listener)

        return stop

    def publish(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.heard(topic)

    def heard(self, topic: str) -> None:
        for listener in tuple(self._listeners.get(topic.partition(":")[0], ())):
            listener(topic)
