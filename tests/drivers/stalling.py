"""Process that is suspended during a job and resumes after another process took the job over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crofter.db import Database
from crofter.drivers.hypervisor.libvirt import tables

LONGEST = 60.0


class Stalled:
    """A driver whose jobs stop at a check, without further heartbeats."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        """Set when a job has stopped."""
        self.go_on = threading.Event()


@contextmanager
def stalled(database: Database, driver: Any, check: int) -> Iterator[Stalled]:
    """Jobs that the driver begins inside stop at their check with this number; at the end they go on, too late."""
    held, performer = Stalled(), driver._performer
    asked: dict[int, int] = {}
    look, start = performer._check, performer._start

    def slow(number: int) -> None:
        asked[number] = asked.get(number, 0) + 1
        if asked[number] == check:
            with database.write() as db:
                db.update(tables.job, {"id": number}, beat=0)
            held.reached.set()
            assert held.go_on.wait(LONGEST)
        look(number)

    def begin(*parts: Any, **options: Any) -> Any:
        """Return when the job has stopped or ended, so that tests need no delays."""
        thread = start(*parts, **options)
        while thread.is_alive() and not held.reached.is_set():
            held.reached.wait(0.02)
        return thread

    performer._check, performer._start = slow, begin
    performer._beating = True  # the thread that would give signs of life is never started
    try:
        yield held
    finally:
        held.go_on.set()
        for thread in list(performer._threads.values()):
            thread.join(LONGEST)
