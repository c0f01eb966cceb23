"""What the house asks of a database: transactions, on either one in the same words."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from crofter.db.session import Session
from crofter.db.signals import Signals


class TryAgain(Exception):
    """The transaction lost against another one and has left no trace: run it once more."""


class HoldFirst(TryAgain):
    """Somebody holds an account that should have been held earlier: begin again, and hold it first."""

    def __init__(self, account_id: int) -> None:
        self.account_id = account_id


class Spoilt(Exception):
    """One of several hopeful writes failed after it had changed something: none of them is done."""


class Together:
    """Several writes that are committed together."""

    spoilt = False
    """Whether there is no use in adding more to them."""


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

    def together(self, *, hopeful: bool = False) -> AbstractContextManager[Together]:
        """One commit for all that this thread writes in the block, where there is only one writer anyway.

        Each write still stands or falls alone; none is done before the block has ended. Raises Unavailable.
        ``hopeful`` ones cost less, but if one of them fails late the block raises Spoilt, and all are to be done again.
        """

    @property
    def in_turn(self) -> bool:
        """Whether this thread is inside such a block: what it reads stays true until it writes."""

    def hurry(self) -> AbstractContextManager[None]:
        """What this thread commits in the block does not wait for the disk; the first commit after it does, for all."""

    def close(self) -> None: ...
