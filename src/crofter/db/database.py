"""Interface of a database: transactions, with the same calls for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from crofter.db.session import Session
from crofter.db.signals import Signals
from crofter.errors import Unavailable


class LockTaken(Unavailable):
    """Timeout while another transaction holds the wanted lock. The database itself is healthy."""


class TransactionConflict(Exception):
    """The transaction lost against another one and has left no trace: run it once more."""


class LockFirst(TransactionConflict):
    """Another transaction holds an account that should have been locked earlier: begin again, and lock it first."""

    def __init__(self, account_id: int) -> None:
        self.account_id = account_id


class BatchAborted(Exception):
    """Abort of a batch: one optimistic write failed after a change, so none is committed."""


class Batch:
    """Several writes that are committed together."""

    aborted = False
    """True if more writes must not be added."""
    conflict = False
    """True if one write lost against another transaction and may succeed alone."""
    locked: Collection[int] = ()
    """Requested accounts that could be locked."""


class Database(Protocol):
    """A store of rows: SQLite in this process, or PostgreSQL shared by many."""

    dialect: str
    url: str
    """For SQLAlchemy, which migrations use."""
    reads_block: bool
    """True if a read may wait on the network and must not run on the event loop."""

    @property
    def signals(self) -> Signals: ...

    def read(self) -> AbstractContextManager[Session]:
        """A transaction that only looks."""

    def write(self) -> AbstractContextManager[Session]:
        """A transaction that commits when the block ends, or leaves no trace when it raises."""

    def batch(self, *, optimistic: bool = False, accounts: Collection[int] = ()) -> AbstractContextManager[Batch]:
        """Commit all writes of this thread in the block together; lock the free ones of ``accounts`` first.

        Each write succeeds or fails alone, and none is committed before the block ends. Raise Unavailable if the
        database is. ``optimistic`` writes cost less, but a late failure raises BatchAborted, and all must be repeated.
        """

    def reading_together(self) -> AbstractContextManager[Batch]:
        """Read from one snapshot in the block. The snapshot is taken after the block was entered."""

    @property
    def holds_writer_lock(self) -> bool:
        """Hold the writer lock in the block: values read stay valid until the write."""

    def relaxed_durability(self) -> AbstractContextManager[None]:
        """Commit in the block without waiting for the disk; the first commit after the block waits for all."""

    def answers_callers(self) -> None:
        """Mark this thread, once, as serving callers: it gives up sooner when the server is silent."""

    def caller_waits_since(self, since: float) -> AbstractContextManager[None]:
        """Work in the block for a caller whose request arrived at ``since``, in monotonic seconds."""

    def close(self) -> None: ...
