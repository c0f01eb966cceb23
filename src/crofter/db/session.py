"""Transaction interface for rules and stores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from crofter.db import row_statements
from crofter.db.journal import Journal
from crofter.db.locks import Lock
from crofter.db.query import Compiled, Query
from crofter.db.signals import Signals
from crofter.db.sql import Table
from crofter.errors import NotFound

R = TypeVar("R")


class Duplicate(Exception):
    """A row with the same unique value is there already. The transaction can only be given up."""


class Driver(NamedTuple):
    """Functions of one database driver."""

    dialect: str
    clashes: type[Exception]
    """Exception of a violated constraint."""
    changed: Callable[[Any], int]
    """Number of rows that a cursor's statement changed."""
    numbered: Callable[[Any], int]
    """The number of the row that a statement has put in."""


class DeferredWrite(Protocol):
    """State that several writes change and one statement writes at the commit."""

    def write(self, db: Session) -> None: ...


L = TypeVar("L", bound=DeferredWrite)


class Session:
    """Statements on one connection inside one transaction, and what to do once it has committed."""

    __slots__ = (
        "_ahead",
        "_driver",
        "_execute",
        "_execute_later",
        "_lock_account",
        "after",
        "changes_nothing",
        "deferred_writes",
        "dialect",
        "events",
        "journal",
        "operations",
        "price_changes",
        "topics",
    )

    def __init__(
        self,
        driver: Driver,
        execute: Callable[..., Any],
        lock_account: Callable[[int], None],
        journal: Journal | None = None,
        execute_later: Callable[..., Any] | None = None,
    ) -> None:
        self.dialect = driver.dialect
        self._driver = driver
        self._execute = execute
        self._execute_later = execute_later or execute
        self._lock_account = lock_account
        self._ahead: dict[Any, Any] | None = None if execute_later is None else {}
        """Prefetched results by statement and values."""
        self.journal = journal
        """Journal of a writing transaction's reads and writes, for the audit log."""
        self.topics: set[str] = set()
        self.events: list[int] = []
        """The events that were written, for the audit log."""
        self.operations: list[tuple[Any, Any]] = []
        """The operations that were queued, each with its arguments: what is still to come of this transaction."""
        self.price_changes: list[tuple[int, int, int]] = []
        """Account, hourly and monthly price of each start and stop of billing; for a plan."""
        self.after: list[Callable[[], None]] = []
        self.changes_nothing = False
        """True if the caller found nothing to write: the end of the transaction is not awaited."""
        self.deferred_writes: dict[Hashable, DeferredWrite] = {}
        """Deferred writes by key; the latest one per key counts."""

    def lock_account(self, account_id: int) -> None:
        """Block other writers of this account until this transaction ends.

        SQLite has one writer anyway. PostgreSQL gives the same guarantee per account: values read after the lock stay
        valid until commit, and the account's events commit in the order of their ids. A transaction locks several
        accounts in ascending order; if they are unknown in advance, the transaction may have to restart.
        """
        self._lock_account(account_id)

    def lock(self, name: Lock) -> None:
        """Keep every other writer that takes this lock waiting until this transaction ends."""
        self._lock_account(name)

    def signal(self, topic: str) -> None:
        """Notify all waiters for ``topic``, in every process, after the commit."""
        self.topics.add(topic)

    def deferred(self, key: Hashable, kind: type[L]) -> L | None:
        """Return the deferred write under this key, or None."""
        write = self.deferred_writes.get(key)
        return write if isinstance(write, kind) else None

    def before_commit(self) -> None:
        """Called by the database just before the transaction commits."""
        for deferred in self.deferred_writes.values():
            deferred.write(self)
        self.deferred_writes.clear()

    def after_commit(self, signals: Signals) -> None:
        """Called by the database once the transaction has committed."""
        for action in self.after:
            action()
        if self.topics:
            signals.publish(self.topics)

    def one(self, statement: Query[R], **values: Any) -> R:
        """The row, or NotFound."""
        row = self.maybe(statement, **values)
        if row is None:
            raise NotFound
        return row

    def maybe(self, statement: Query[R], **values: Any) -> R | None:
        compiled = statement.compiled(self.dialect)
        raw = self._run(compiled, values).fetchone()
        if self.journal is not None:
            self.journal.reads.append(raw)
        if raw is None:
            return None
        assert statement.row_type is not None
        return statement.row_type(*compiled.row(raw))

    def ask_ahead(self, statement: Query[Any], **values: Any) -> None:
        """Prefetch the result of a statement that follows with the same values, to save a round trip.

        The result is of this moment: changes before the actual call are not visible in it.
        """
        if self._ahead is not None:  # statements are network round trips
            compiled = statement.compiled(self.dialect)
            bound = compiled.values(values)
            self._ahead[_question(compiled, bound)] = self._execute_later(compiled.sql, bound)

    def maybe_later(self, statement: Query[R], **values: Any) -> Callable[[], R | None]:
        """Return a function that returns the row. The statement is sent together with the next awaited statement."""
        compiled = statement.compiled(self.dialect)
        result = self._execute_later(compiled.sql, compiled.values(values))

        def fetch() -> R | None:
            raw = result.fetchone()
            if self.journal is not None:
                self.journal.reads.append(raw)
            assert statement.row_type is not None
            return None if raw is None else statement.row_type(*compiled.row(raw))

        return fetch

    def all(self, statement: Query[R], **values: Any) -> list[R]:
        compiled = statement.compiled(self.dialect)
        rows = self._run(compiled, values).fetchall()
        if self.journal is not None:
            self.journal.reads.append(rows)
        make = statement.row_type
        assert make is not None
        if not compiled.results:
            return [make(*raw) for raw in rows]
        return [make(*compiled.row(raw)) for raw in rows]

    def value(self, statement: Query[Any], **values: Any) -> Any:
        """The first column of the first row, or None."""
        compiled = statement.compiled(self.dialect)
        raw = self._run(compiled, values).fetchone()
        if self.journal is not None:
            self.journal.reads.append(raw)
        return None if raw is None else compiled.row(raw)[0]

    def column(self, statement: Query[Any], **values: Any) -> list[Any]:
        """The first column of every row."""
        compiled = statement.compiled(self.dialect)
        rows = self._run(compiled, values).fetchall()
        if self.journal is not None:
            self.journal.reads.append(rows)
        return [compiled.row(raw)[0] for raw in rows]

    def run(self, statement: Query[Any], **values: Any) -> int:
        """Run a write and return the number of changed rows."""
        compiled = statement.compiled(self.dialect)
        return self._driver.changed(self._write(compiled, values))

    def insert(self, into: Table, **values: Any) -> int:
        """Insert a row; its id, or 0 where the table has none. Raises Duplicate."""
        statement, numbered, inserted = row_statements.insert(into, tuple(values), self.dialect)
        cursor = self._write(statement, values)
        number = self._driver.numbered(cursor) if numbered else 0
        if inserted is not None:
            inserted(self, values, number)
        return number

    def insert_rows(self, into: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows with the same columns in one statement. Their ids are not returned."""
        compiled = row_statements.insert_rows(into, tuple(rows[0]), len(rows), self.dialect)
        self._write(compiled, {f"{name}_{n}": value for n, row in enumerate(rows) for name, value in row.items()})

    def update(self, changed: Table, where: dict[str, Any], **values: Any) -> int:
        """Set columns on the rows whose columns equal ``where``; how many there were."""
        compiled = row_statements.update(changed, tuple(where), tuple(values), self.dialect)
        named = {f"old_{name}": value for name, value in where.items()}
        return self._driver.changed(self._write(compiled, {**named, **values}))

    def delete(self, source: Table, **where: Any) -> int:
        compiled = row_statements.delete(source, tuple(where), self.dialect)
        return self._driver.changed(self._write(compiled, {f"old_{name}": value for name, value in where.items()}))

    # When each statement is a network round trip, a statement without a needed result is sent with the next one. Its
    # success is known only after that one or the commit. Do not use it for writes that may clash or whose row count
    # matters.

    def run_later(self, statement: Query[Any], **values: Any) -> None:
        """Run a write whose row count is not needed."""
        self._write_later(statement.compiled(self.dialect), values)

    def insert_later(self, into: Table, **values: Any) -> None:
        """Insert a new row whose id is not needed."""
        statement, _, inserted = row_statements.insert(into, tuple(values), self.dialect, asks=False)
        self._write_later(statement, values)
        if inserted is not None:
            inserted(self, values, 0)

    def update_later(self, changed: Table, where: dict[str, Any], **values: Any) -> None:
        """Set columns on the rows whose columns equal ``where``, however many there are."""
        named = {f"old_{name}": value for name, value in where.items()}
        compiled = row_statements.update(changed, tuple(where), tuple(values), self.dialect)
        self._write_later(compiled, {**named, **values})

    def delete_later(self, source: Table, **where: Any) -> None:
        """Delete the rows whose columns equal ``where``, if there are any."""
        compiled = row_statements.delete(source, tuple(where), self.dialect)
        self._write_later(compiled, {f"old_{name}": value for name, value in where.items()})

    def raw(self, sql: str, values: Any = ()) -> Any:
        """SQL in the database's own words, for scheduled work of the database itself."""
        return self._execute(sql, values)

    def raw_later(self, sql: str, values: Any = ()) -> None:
        """The same, sent along with the next statement that is waited for."""
        self._execute_later(sql, values)

    def _write(self, compiled: Compiled, values: dict[str, Any]) -> Any:
        bound = compiled.values(values)
        if self.journal is not None:
            self.journal.wrote(compiled.key, bound)
        return self._bound(compiled.sql, bound)

    def _write_later(self, compiled: Compiled, values: dict[str, Any]) -> None:
        bound = compiled.values(values)
        if self.journal is not None:
            self.journal.wrote(compiled.key, bound)
        self._execute_later(compiled.sql, bound)

    def _run(self, compiled: Compiled, values: dict[str, Any]) -> Any:
        bound = compiled.values(values)
        if self._ahead:
            asked = self._ahead.pop(_question(compiled, bound), None)
            if asked is not None:
                return asked
        return self._bound(compiled.sql, bound)

    def _bound(self, sql: str, values: Any) -> Any:
        try:
            return self._execute(sql, values)
        except self._driver.clashes as error:
            if "unique" in str(error).lower():
                raise Duplicate(str(error)) from error
            raise


def _question(compiled: Compiled, bound: Any) -> Any:
    return compiled.key, tuple(sorted(bound.items(), key=itemgetter(0)))
