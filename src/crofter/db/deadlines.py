"""How long a thread waits for PostgreSQL before it gives up by itself, since a server that is stopped says nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout

TOLD_SECONDS = 4.5
"""Seconds from the arrival of a request to its answer while the server is silent. The promise to callers is 5 s."""
CALLER_SECONDS = 3.5
"""For a whole transaction of a thread that answers callers, or what is left of TOLD_SECONDS if that is less."""
LOOK_SECONDS = 2.0
"""A read of such a thread that has waited so long looks whether the server answers others. If so it may take longer:
who is sent away from a slow list comes back, and is sent away again. What writes may not, as it holds locks."""
STATEMENT_SECONDS = 12.0
"""For each statement of any other thread, and for the whole of a slow read. The server itself ends statements sooner,
so it is not there then."""
CONNECT_SECONDS = 3
ASK_SECONDS = 2
"""For the connection that shows whether the server is there; libpq allows no less."""
LEAST = 0.1
"""Seconds that even a late statement gets: a rollback after an error of ours is worth them."""

_thread = threading.local()


def answers_callers() -> None:
    """Mark this thread, once, as serving callers."""
    _thread.answers_callers = True


class CallerWaits:
    """A block in which this thread works for a request that arrived at ``since``, in monotonic seconds."""

    __slots__ = ("_before", "_since")

    def __init__(self, since: float) -> None:
        self._since = since

    def __enter__(self) -> None:
        self._before = getattr(_thread, "since", None)
        _thread.since = self._since

    def __exit__(self, *_: object) -> None:
        _thread.since = self._before


def left(most: float) -> float:
    """Return ``most``, or the seconds that are left for the request of this thread if they are fewer."""
    since = getattr(_thread, "since", None)
    return most if since is None else max(LEAST, min(most, since + TOLD_SECONDS - time.monotonic()))


def look_after() -> float:
    """Seconds after which a read looks whether the server answers others. The look has to end in time, too."""
    return max(LEAST, min(LOOK_SECONDS, left(TOLD_SECONDS) - ASK_SECONDS))


def of_transaction() -> float | None:
    """When a transaction that begins now has to be over; None if only its statements are limited."""
    return time.monotonic() + left(CALLER_SECONDS) if getattr(_thread, "answers_callers", False) else None


class NoAnswer(psycopg.OperationalError):
    """The server has said nothing for as long as we wait. The connection is closed."""


class DeadlineConnection(psycopg.Connection[Any]):
    """Gives up a statement when its time is over. psycopg itself would wait for ever."""

    until: float | None = None
    """When the transaction under way has to be over, if it has a limit of its own."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        left = STATEMENT_SECONDS if self.until is None else max(self.until - time.monotonic(), LEAST)
        try:
            return super().wait(gen, interval, left)
        except _WaitTimeout:
            self.close()  # discard late replies: the statement that waited for them has timed out
            raise NoAnswer("the server does not answer") from None
