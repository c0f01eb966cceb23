"""What the server asks of a database: transactions, on either one in the same words."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from crofter.db.session import Session
from crofter.db.signals import Signals
from crofter.errors import Unavailable


class LockTaken(Unavailable):
    """Somebody else holds what was wanted, for longer than one waits. The database itself is well."""


class TransactionConflict(Exception):
    """The transaction lost against another one and has left no trace: run it once more."""


class LockFirst(TransactionConflict):
    """Another transaction holds an account that should have been locked earlier: begin again, and lock it first."""

    def __init__(self, account_id: int) -> None:
        self.account_id = account_id


class BatchAborted(Exception):
    """One of several optimistic writes failed after it had changed something: none of them is done."""


class Batch:
    """Several writes that are committed together."""

    aborted = False
    """Whether there is no use in adding more to them."""
    conflict = False
    """Whether one of them lost against somebody else: done alone, it may succeed."""
    locked: Collection[int] = ()
    """Of the accounts that were asked for, those that nobody else had."""


class Database(Protocol):
    """A store of rows: SQLite in this process, or PostgreSQL shared by many."""

    dialect: str
    url: str
    """For SQLAlchemy, which migrations use."""
    reads_block: bool
    """Whether a read may wait on the network, so that it must not run on the event loop."""

    @property
    def signals(self) -> Signals: ...

    def read(self) -> AbstractContextManager[Session]:
        """A transaction that only looks."""

    def write(self) -> AbstractContextManager[Session]:
        """A transaction that commits when the block ends, or leaves no trace when it raises."""

    def batch(self, *, optimistic: bool = False, accounts: Collection[int] = ()) -> AbstractContextManager[Batch]:
        """One commit for all that this thread writes in the block; ``accounts`` are locked for it if they are free.

        Each write still stands or falls alone; none is done before the block has ended. Raises Unavailable.
        ``optimistic`` ones cost less, but if one fails late the block raises BatchAborted, and all are done again.
        """

    def reading_together(self) -> AbstractContextManager[Batch]:
        """All that this thread reads in the block is of one moment, which comes after the block was entered."""

    @property
    def holds_writer_lock(self) -> bool:
        """Whether this thread is inside such a block: what it reads stays true until it writes."""

    def relaxed_durability(self) -> AbstractContextManager[None]:
        """What this thread commits in the block does not wait for the disk; the first commit after it does, for all."""

    def answers_callers(self) -> None:
        """Said by a thread, once: somebody waits for what it does, so it gives up sooner on a server that is silent."""

    def caller_waits_since(self, since: float) -> AbstractContextManager[None]:
        """What this thread does in the block is for a caller whose request arrived then, in monotonic seconds."""

    def close(self) -> None: ...
