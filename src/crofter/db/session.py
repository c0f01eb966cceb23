"""One transaction, as rules and stores see it."""

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
    """What one database's driver says in its own way."""

    dialect: str
    clashes: type[Exception]
    """What it raises when a constraint does not hold."""
    changed: Callable[[Any], int]
    """How many rows a statement touched, by its cursor."""
    numbered: Callable[[Any], int]
    """The number of the row that a statement has put in."""


class DeferredWrite(Protocol):
    """What changes with each of several writes, and is written down once for all of them when they are committed."""

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
        """Answers that were asked for before they are wanted, by question."""
        self.journal = journal
        """What a transaction that may write has read and written so far, for the audit log."""
        self.topics: set[str] = set()
        self.events: list[int] = []
        """The events that were written, for the audit log."""
        self.operations: list[tuple[Any, Any]] = []
        """The operations that were queued, each with its arguments: what is still to come of this transaction."""
        self.price_changes: list[tuple[int, int, int]] = []
        """Who pays how much more, by the hour and by the month, for what was started and stopped; for a plan."""
        self.after: list[Callable[[], None]] = []
        self.changes_nothing = False
        """Said by whoever found nothing to write: then nobody waits for the end of the transaction."""
        self.deferred_writes: dict[Hashable, DeferredWrite] = {}
        """What is still to be written, by what it is the latest of."""

    def lock_account(self, account_id: int) -> None:
        """Keep every other writer of this account waiting until this transaction ends.

        SQLite has one writer anyway. On PostgreSQL this gives the same promise per account: whatever is
        read after it stays true until commit, and the account's events commit in the order of their ids.
        A transaction that holds several accounts takes them in ascending order; one that cannot know them
        beforehand may have to begin again.
        """
        self._lock_account(account_id)

    def lock(self, name: Lock) -> None:
        """Keep every other writer that takes this lock waiting until this transaction ends."""
        self._lock_account(name)

    def signal(self, topic: str) -> None:
        """Tell whoever waits for ``topic``, in every process, once this has committed."""
        self.topics.add(topic)

    def deferred(self, key: Hashable, kind: type[L]) -> L | None:
        """What is to be written before the commit under this key, if anything is yet."""
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
        """Send a question that will be asked next, with the same words: several travel together.

        It is answered as of now: not for what is changed before it is asked.
        """
        if self._ahead is not None:  # where every statement is a journey
            compiled = statement.compiled(self.dialect)
            bound = compiled.values(values)
            self._ahead[_question(compiled, bound)] = self._execute_later(compiled.sql, bound)

    def maybe_later(self, statement: Query[R], **values: Any) -> Callable[[], R | None]:
        """The row, when it is asked for: the statement travels with the next one that is waited for."""
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
        """Run a write; how many rows it touched."""
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
        """Insert rows that have the same columns, and whose ids nobody asks for, in one statement."""
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

    # Where every statement is a journey, one that nobody needs to hear of travels with the next. So what it does is
    # certain only when that one, or the commit, has come back: never for what may clash, nor where a count decides.

    def run_later(self, statement: Query[Any], **values: Any) -> None:
        """Run a write, whatever number of rows it touches."""
        self._write_later(statement.compiled(self.dialect), values)

    def insert_later(self, into: Table, **values: Any) -> None:
        """Insert a row that cannot be there yet, and whose id nobody asks for."""
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
