"""Opening transactions in the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crofter.clock import Clock
from crofter.db import Database, Duplicate
from crofter.db.database import TransactionConflict
from crofter.drivers.hypervisor.errors import Unreachable
from crofter.drivers.hypervisor.ledger.fleet import Fleet
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.errors import Unavailable


class Transactions:
    """Short transactions of the driver's own: never part of one that a caller has open."""

    def __init__(self, database: Database, clock: Clock, fleet: Fleet, ledger_class: type[Ledger] = Ledger) -> None:
        self._database = database
        self._clock = clock
        self._ledger_class = ledger_class
        self.fleet = fleet

    def now(self) -> int:
        return self._clock.now()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        with store_faults(), self._database.read() as db:
            yield self._ledger_class(db, self._clock, self.fleet)

    @contextmanager
    def writing(self) -> Iterator[Ledger]:
        with store_faults(), self._database.write() as db:
            yield self._ledger_class(db, self._clock, self.fleet)


@contextmanager
def store_faults() -> Iterator[None]:
    try:
        yield
    except Unavailable as error:
        raise Unreachable("The store of the hypervisor does not answer.") from error
    except (Duplicate, TransactionConflict) as error:
        # nothing was written; a repetition finds the rows of the other process
        raise Unreachable("Somebody else was quicker.") from error
