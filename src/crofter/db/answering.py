"""Health of PostgreSQL as seen by this process, and the meaning of its errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
from psycopg import errors as pg

from crofter.db.database import LockTaken, TransactionConflict
from crofter.db.deadlines import NoAnswer
from crofter.errors import NoSpace, Unavailable

SILENCE = 1.0
"""Seconds without any reply after which an unanswered statement means a stopped server."""
_INTERNAL = (pg.IdleInTransactionSessionTimeout, pg.ReadOnlySqlTransaction)
"""Exceptions that PostgreSQL classes as internal errors, but that are none."""


def raise_storage_fault(error: BaseException | None) -> None:
    """A server that is away, or a transaction that lost against another, is no bug."""
    if isinstance(error, (pg.SerializationFailure, pg.DeadlockDetected)):
        raise TransactionConflict from error
    if isinstance(error, pg.LockNotAvailable):
        raise LockTaken from error
    if isinstance(error, pg.DiskFull):
        raise NoSpace from error
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, *_INTERNAL)):
        raise Unavailable from error


class Answering:
    """While the server does not answer, one thread at a time tries, and the others fail at once.

    Else every thread would wait as long as it may, request after request.
    """

    def __init__(self) -> None:
        self._heard_at = time.monotonic()
        self._silent = False
        self._trial = threading.Lock()
        self._asking = threading.Lock()
        self._unheard_at = 0.0
        """Moment of the last unanswered probe."""

    def heard(self) -> None:
        self._silent = False
        self._heard_at = time.monotonic()

    def is_alive(self, ask: Callable[[], None]) -> bool:
        """True if the server answers other threads. For a thread that waits long; one thread at a time probes."""
        since = time.monotonic()
        with self._asking:
            if self._heard_at > since - SILENCE:
                return True
            if self._unheard_at > since:
                return False
            try:
                ask()
            except psycopg.Error:
                self._unheard_at = time.monotonic()
                return False
            self.heard()
            return True

    def enter(self) -> bool:
        """Before a transaction; says whether it is the one that tries."""
        trial = self._silent
        if trial and not self._trial.acquire(blocking=False):
            raise Unavailable
        return trial

    def leave(self, error: BaseException | None, *, trial: bool, heard: bool = False) -> None:
        """After it, with what went wrong. ``heard``: whether the server has answered anything in it."""
        if isinstance(error, (NoAnswer, psycopg.errors.ConnectionTimeout)):
            # A slow statement does not mean a silent server: other threads get replies meanwhile.
            self._silent = time.monotonic() - self._heard_at > SILENCE
        elif heard:  # a transaction without a statement, as of a request without a token, says nothing of the server
            self.heard()
        if trial:
            self._trial.release()
