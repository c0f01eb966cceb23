"""Threads whose commits do not wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RelaxedDurability:
    def __init__(self) -> None:
        self._threads: set[int] = set()

    @property
    def here(self) -> bool:
        """True if the current thread is inside the block."""
        return threading.get_ident() in self._threads

    @contextmanager
    def begun(self) -> Iterator[None]:
        thread = threading.get_ident()
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)
