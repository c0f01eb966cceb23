"""How long a thread waits for PostgreSQL before it gives up by itself, since a server that is stopped says nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout

CALLER_SECONDS = 3.5
"""For a whole transaction of a thread that answers callers: with the wait for a thread they are told within 5 s."""
LOOK_SECONDS = 2.0
"""A read of such a thread that has waited so long looks whether the server answers others. If so it may take longer:
who is sent away from a slow list comes back, and is sent away again. What writes may not, as it holds locks."""
STATEMENT_SECONDS = 12.0
"""For each statement of any other thread, and for the whole of a slow read. The server itself ends statements sooner,
so it is not there then."""
CONNECT_SECONDS = 3
LEAST = 0.1
"""Seconds that even a late statement gets: a rollback after an error of ours is worth them."""

_thread = threading.local()


def answers_callers() -> None:
    """Said by a thread, once: somebody waits for what it does."""
    _thread.answers_callers = True


def of_transaction() -> float | None:
    """When a transaction that begins now has to be over; None if only its statements are limited."""
    return time.monotonic() + CALLER_SECONDS if getattr(_thread, "answers_callers", False) else None


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
            self.close()  # whatever comes later is the answer to a question that nobody asks any more
            raise NoAnswer("the server does not answer") from None
