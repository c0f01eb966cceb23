"""Jobs: operations on an object as its owner sees them, and the one way to begin one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.engine import Operation, admit, cancel, enqueue
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.errors import Busy
from crofter.events import Author, write
from crofter.kinds import Entity

_OPERATION_IDS = select(operation.c.id).where(operation.c.key == bindparam("key"))
_LIVE = query(
    # Two halves, each with its own index.
    _OPERATION_IDS.where(state_in(operation, "running", "waiting")).union_all(
        _OPERATION_IDS.where(state_in(operation, "queued"))
    )
)


class Undeclared(Exception):
    """A job was started in a way that its declaration does not allow: a defect of the caller or of the list."""


class Job(Struct, frozen=True, kw_only=True):
    """An operation on an object as its owner sees it: the event, where it may start, what it shows meanwhile.

    ``Subject.start_job`` enforces all of it. Where an object ends up is decided by the operation's last step.
    """

    operation: Operation
    action: str
    accepts: tuple[str, ...]
    """The states that it starts from. In any other one it is refused."""
    creates: bool = False
    """True if the job creates the object, in the same transaction."""
    interrupts: bool = False
    """True if the job cancels queued and running work instead of being refused."""
    after: tuple[str, ...] = ()
    """Kinds of operations whose steps may queue it behind themselves and behind all that is under way."""
    behind: tuple[str, ...] = ()
    """Kinds of operations that an order of it waits for in the queue. It is refused while any other is under way."""
    during: str | Mapping[str, str] | None = None
    """Status during the job, or status by initial state. None: the status stays, as during a snapshot."""
    later: tuple[str, ...] = ()
    """Statuses that later steps set."""
    notifies: bool = False
    """True if the event is a notification of the request and does not follow the work."""

    def shows(self, status: str) -> str | None:
        """Return the status during the job for this initial state."""
        return self.during.get(status) if isinstance(self.during, Mapping) else self.during


class HasStatus(Protocol):
    """A row of what jobs work on."""

    @property
    def id(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def created(self) -> str: ...


T = TypeVar("T", bound=HasStatus)


class Subject(Generic[T]):
    """A sort of object that jobs work on, one at a time."""

    def __init__(
        self,
        name: str,
        *,
        entity: Callable[[T], Entity],
        show: Callable[[Context, int, str], None],
        busy: str | None = None,
    ) -> None:
        self.name = name
        self._entity = entity
        self._show = show
        self._busy = busy

    def key(self, object_id: int) -> str:
        """Return the queue key that serialises operations on an object."""
        return f"{self.name}:{object_id}"

    def must_be_idle(self, ctx: Context, row: T, accepts: tuple[str, ...], behind: tuple[str, ...] = ()) -> None:
        """Refuse while an earlier action is queued or running, or in a state that the action does not start from.

        Operations of the kinds ``behind`` may be running.

        Each job checks this when it starts. Rules call it earlier where the refusal as busy must come before another
        refusal, or where a change needs no job.
        """
        if row.status not in accepts:
            raise Busy(self._busy)
        try:
            admit(ctx, self.key(row.id), behind)
        except Busy:
            raise Busy(self._busy) from None

    def start_job(
        self,
        ctx: Context,
        job: Job,
        row: T,
        args: Struct,
        *,
        secondary: Entity | None = None,
        after: Operation | None = None,
        entity: Entity | None = None,
        event_id: int | None = None,
    ) -> int:
        """Start a job: status, event and operation in this transaction. Return the event's id.

        ``row`` is the object's current row, which becomes busy. ``after`` is the operation whose step starts the job.
        ``entity`` is the event's entity if it is not the object. ``event_id`` is the event, if it was written when the
        job was requested and had to wait.
        """
        self._must_be_startable(ctx, job, row, after)
        shown = job.shows(row.status)
        if shown is not None and shown != row.status:
            self._show(ctx, row.id, shown)
        if job.interrupts:
            self._cancel_all(ctx, row)
        about = entity or self._entity(row)
        if event_id is not None:
            pass
        elif job.notifies:
            event_id = write(ctx.db, ctx.now, author(ctx), job.action, "notification", about, secondary)
        else:
            event_id = write(ctx.db, ctx.now, author(ctx), job.action, "scheduled", about, secondary, percent=0)
        followed = None if job.notifies else event_id
        enqueue(ctx, job.operation, args, key=self.key(row.id), event_id=followed)
        return event_id

    def finish_at_once(self, ctx: Context, job: Job, row: T, *, secondary: Entity | None = None) -> int:
        """A job that finds nothing to do may start like any other, and is finished as soon as it is written down."""
        self._must_be_startable(ctx, job, row, None)
        times = {"started": ctx.now, "finished": ctx.now}
        return write(
            ctx.db, ctx.now, author(ctx), job.action, "finished", self._entity(row), secondary, percent=100, **times
        )

    def _must_be_startable(self, ctx: Context, job: Job, row: T, after: Operation | None) -> None:
        if after is not None and after.kind not in job.after:
            raise Undeclared(f"{job.operation.kind} is not declared to follow {after.kind}")
        if job.creates:
            # A row of this transaction is invisible to others, so the check is skipped. This case is frequent.
            if row.created != ctx.moment:
                raise Undeclared(f"{job.operation.kind} starts with a new {self.name} only")
        elif job.interrupts or after is not None:
            if row.status not in job.accepts:
                raise Busy(self._busy)
        else:
            self.must_be_idle(ctx, row, job.accepts, job.behind)

    def _cancel_all(self, ctx: Context, row: T) -> None:
        """Cancel what is queued, and ask what is under way to stop at its next step."""
        for operation_id in sorted(ctx.db.column(_LIVE, key=self.key(row.id))):
            cancel(ctx, operation_id)


def author(ctx: Context) -> Author:
    return Author(ctx.actor.account_id, ctx.actor.user_id or None, ctx.actor.username)
