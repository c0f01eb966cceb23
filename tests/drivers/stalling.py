"""A process that stands still in the middle of a job, and goes on when another one has taken the job over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crofter.db import Database
from crofter.drivers.hypervisor.libvirt import tables

LONGEST = 60.0


class Stalled:
    """One driver whose jobs stop at a check, and give no sign of life from then on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        """Set when a job stands still."""
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
        """Returns when the job stands still or is over, so that nobody has to guess how long that takes."""
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
