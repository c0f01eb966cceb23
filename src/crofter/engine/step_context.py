"""Context of a step: arguments, variables, and the allowed actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from crofter import events
from crofter.context import ALL_SCOPES, Actor, Context, Runtime
from crofter.db.database import TransactionConflict
from crofter.engine import queue
from crofter.engine.operation import Failure, Operation, Step
from crofter.engine.tables import Claimed
from crofter.errors import Unavailable

PROGRESS_EVERY = 1.0
"""Seconds of machine time between two writes of a step's progress."""
FAILURE = "failure"
"""Note of a follow-up: how the event of the failed operation ends."""


class StepContext:
    """A running operation, as seen by its steps and hooks."""

    def __init__(self, runtime: Runtime, operation: Operation, row: Claimed) -> None:
        self.runtime = runtime
        self.operation = operation
        self.id = row.id
        self.key = row.key
        self.epoch = row.epoch
        self.worker = row.owner
        self.account_id = row.account_id
        self.event_id = row.event_id
        self.actor = actor_of(row)
        self.input = row.input
        self.args: Any = msgspec.convert(row.input, operation.args)
        self.vars: dict[str, Any] = dict(row.vars)
        """Small notes of the operation to itself, kept at each checkpoint."""
        self.failure = msgspec.convert(row.vars.get(FAILURE), Failure | None)
        """Set in a follow-up: the event belongs to an operation that failed, and ends with this."""
        self.ending: Failure | None = None
        """Set while the ``failed`` hook runs: how the event ends."""
        self.followed = False
        """True if the ``done`` or ``failed`` hook enqueued an operation that takes over the event."""
        self.writes: list[Callable[[Context], None]] = []
        self._step = operation.step_at(row.cursor) or operation.steps[0]
        self._cursor = row.cursor
        self._cancelled = row.cancel
        self._report_at = self._look_at = 0.0
        """Machine time from which on progress may be written, and the operation looked at, again."""

    @property
    def step(self) -> Step:
        return self._step

    @property
    def token(self) -> str:
        """The same for every attempt at this step: what makes a repeated call outside harmless."""
        return f"op{self.id}.{self._step.name}"

    def enter(self, step: Step, cursor: str, notes: dict[str, Any]) -> None:
        """Made ready for one attempt at ``step``: what a failed attempt left behind is forgotten."""
        self._step, self._cursor = step, cursor
        self.vars = msgspec.json.decode(msgspec.json.encode(notes))
        self.writes.clear()

    def then(self, write: Callable[[Context], None]) -> None:
        """Write rows in the transaction that records this step as done: both happen, or neither."""
        self.writes.append(write)

    @contextmanager
    def read(self) -> Iterator[Context]:
        """Look at the database, outside any checkpoint."""
        with self.runtime.database.read() as db:
            yield Context(self.runtime, db, self.actor)

    def progress(
        self, percent: float, rate: str | None = None, remaining: float | None = None, *, at_most: int = 100
    ) -> None:
        """Report the progress of this step to the user. May be called often; written once a second."""
        if self.event_id is None or self.account_id is None or self.failure is not None:
            return
        if time.monotonic() < self._report_at:
            return
        self._report_at = self._look_at = time.monotonic() + PROGRESS_EVERY
        reached = min(at_most, self.operation.percent(self._step, max(0.0, min(100.0, percent))))
        with (
            suppress(Unavailable, TransactionConflict),
            self.runtime.database.write() as db,
        ):  # news, not worth failing a step for
            db.lock_account(self.account_id)
            self._cancelled = queue.fence(db, self.id, self.epoch, self._cursor)
            events.progress(db, self.account_id, self.event_id, reached, rate, remaining)

    @property
    def cancelled(self) -> bool:
        """True if the user requested cancellation. Long steps check this and return early; the checkpoint does the
        rest.
        """
        if not self._cancelled and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + PROGRESS_EVERY
            with self.runtime.database.read() as db:
                seen = queue.look(db, self.id)
            self._cancelled = seen is None or seen.epoch != self.epoch or seen.cancel
        return self._cancelled


def actor_of(row: Claimed) -> Actor | None:
    """Return the requesting user with all permissions: these were checked at the request. User 0 is the system."""
    if row.account_id is None:
        return None
    return Actor(row.account_id, row.user_id or 0, row.username or "", False, 0, ALL_SCOPES)
