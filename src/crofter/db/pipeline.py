"""Connection to PostgreSQL over libpq in pipeline mode, without psycopg's cursors.

A cursor costs several times the statement itself. Here a statement is prepared once per connection. Messages without an
awaited reply (BEGIN, a lock, the COMMIT of a read) are sent together with the next awaited statement.
"""

from __future__ import annotations

import re
import select
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from crofter.db import deadlines
from crofter.db.deadlines import DeadlineConnection, NoAnswer

PREPARED = 384
"""Statements that a connection keeps prepared, at most. What was not used for longest is forgotten."""
SEEN = 200
"""Texts that were sent once and are remembered: the second time a statement is prepared. Most filters never are."""
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE = "BEGIN READ WRITE"
_PLACE = re.compile(r"%\((\w+)\)s|%s|%%")
_WELL = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_TEXT, _BINARY = pq.Format.TEXT, pq.Format.BINARY


@lru_cache(maxsize=4096)
def _numbered(sql: str) -> tuple[bytes, tuple[Any, ...]]:
    """The text with the server's own numbers for its values, and which value each number stands for."""
    order: list[Any] = []

    def place(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        key = len(order) if match[1] is None else match[1]
        if key not in order:
            order.append(key)
        return f"${order.index(key) + 1}"

    return _PLACE.sub(place, sql).encode(), tuple(order)


class _Statement:
    __slots__ = ("loaders", "name", "order", "sql")

    def __init__(self, sql: str, name: bytes) -> None:
        self.sql, self.order = _numbered(sql)
        self.name = name
        """Name of the prepared statement on the server; empty if unprepared."""
        self.loaders: Any = None
        """Loaders of row values. Set for a prepared statement, whose types never change."""


class Result:
    """Result of a statement, filled when its reply arrives."""

    __slots__ = ("_connection", "_statement", "arrived")

    def __init__(self, connection: PipelineConnection, statement: _Statement) -> None:
        self._connection = connection
        self._statement = statement
        self.arrived: pq.abc.PGresult | None = None

    def _loaded(self) -> Any:
        if self.arrived is None:
            self._connection.settle()
        loaders = self._statement.loaders
        if loaders is None:
            loaders = Transformer(self._connection.connection)
            loaders.set_pgresult(self.arrived, set_loaders=True, format=_BINARY)
            if self._statement.name:
                self._statement.loaders = loaders
        else:
            loaders.set_pgresult(self.arrived, set_loaders=False)
        return loaders

    def fetchone(self) -> tuple[Any, ...] | None:
        loaders = self._loaded()
        assert self.arrived is not None
        row: tuple[Any, ...] | None = loaders.load_row(0, tuple) if self.arrived.ntuples else None
        return row

    def fetchall(self) -> list[tuple[Any, ...]]:
        loaders = self._loaded()
        assert self.arrived is not None
        rows: list[tuple[Any, ...]] = loaders.load_rows(0, self.arrived.ntuples, tuple)
        loaders.set_pgresult(None, set_loaders=False)  # else a long list would be kept until the next one
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    @property
    def rowcount(self) -> int:
        if self.arrived is None:
            self._connection.settle()
        assert self.arrived is not None
        return self.arrived.command_tuples or 0


class _Preparing(Result):
    """Result of a PREPARE. If an earlier statement fails, the statement is not prepared."""

    __slots__ = ("sql",)

    def __init__(self, connection: PipelineConnection, statement: _Statement, sql: str) -> None:
        super().__init__(connection, statement)
        self.sql = sql


class PipelineConnection:
    """Pipeline connection, used by one thread at a time."""

    def __init__(self, connection: DeadlineConnection, is_alive: Callable[[], bool]) -> None:
        """Wrap a connection. ``is_alive`` returns True if the server answers others; called while a read waits long."""
        self.connection = connection
        self._is_alive = is_alive
        self.until: float | None = None
        """When the transaction under way has to be over, if it has a limit of its own."""
        self.relaxed = False
        """True if commits do not wait for the disk."""
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._statements: OrderedDict[str, _Statement] = OrderedDict()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._names = 0
        self._expected: deque[Result | None] = deque()
        """Results still expected from the server, in order; None marks a sync point."""
        self._to_begin: str | None = None
        self._reads_until: float | None = None
        """When a transaction that only reads has to be over even if it is slow."""
        self.in_transaction = False
        self.heard = False
        """True if the server has answered a statement since the connection left the pool."""
        self._readable = select.poll()
        self._readable.register(self._pg.socket, select.POLLIN)

    @property
    def closed(self) -> bool:
        return self.connection.closed

    def close(self) -> None:
        self.connection.close()

    # ---- transactions -----------------------------------------------------------------------------------------------

    def begin(self, sql: str) -> None:
        """Travels with the first statement; a block without any never begins."""
        self._to_begin = sql
        self._reads_until = time.monotonic() + deadlines.STATEMENT_SECONDS if sql is BEGIN_READ else None

    def commit(self) -> None:
        """Come back once the server says that it is committed."""
        if self._ended_unbegun():
            return
        answer = self._send("COMMIT", ())
        self.settle()
        assert answer.arrived is not None
        self.in_transaction = False
        if answer.arrived.command_status != b"COMMIT":
            raise psycopg.OperationalError("the server has rolled the transaction back")

    def commit_unwatched(self) -> None:
        """Send the end of a read-only transaction without waiting for the reply."""
        if self._ended_unbegun():
            return
        self._send("COMMIT", ())
        self._sync()
        self.in_transaction = False

    def rollback(self) -> None:
        if self.closed or self._ended_unbegun():
            return
        try:
            if self._expected:
                self.settle()
        except psycopg.Error:
            pass  # the connection is discarded in any case
        self._send("ROLLBACK", ())
        self.settle()
        self.in_transaction = False

    def _ended_unbegun(self) -> bool:
        unbegun = self._to_begin is not None or not self.in_transaction
        self._to_begin = self._reads_until = None
        return unbegun

    def usable(self) -> bool:
        """Return True if the connection may go back to the pool: no transaction, alive, no unexpected data.

        Unexpected data on an idle connection most likely means that the server closed it.
        """
        if self.closed or self.in_transaction:
            return False
        try:
            while self._readable.poll(0):
                if not self._expected:
                    return False
                self._pg.consume_input()
                self._take_arrived()
        except psycopg.Error:
            return False
        return not self.closed

    # ---- statements -------------------------------------------------------------------------------------------------

    def execute(self, sql: str, values: Any = ()) -> Result:
        result = self.execute_later(sql, values)
        self.settle()
        return result

    def execute_later(self, sql: str, values: Any = ()) -> Result:
        """Sent along with the next statement that is waited for. If it fails, that one raises its error."""
        if self._to_begin is not None:
            beginning, self._to_begin = self._to_begin, None
            self.in_transaction = True
            self._send(beginning, ())
        return self._send(sql, values)

    def _send(self, sql: str, values: Any) -> Result:
        statement = self._statements.get(sql)
        if statement is None:
            statement = self._first_use(sql)
        else:
            self._statements.move_to_end(sql)
        formats: list[int] | None = None
        parameters: list[bytes | None] = []
        for key in statement.order:
            value = values[key]
            kind = type(value)
            if kind is str:
                parameters.append(_text(value))
            elif kind is int:
                parameters.append(b"%d" % value)
            elif value is None:
                parameters.append(None)
            elif kind is bytes:
                parameters.append(value)
                formats = formats or [_TEXT] * len(statement.order)
                formats[len(parameters) - 1] = _BINARY
            else:
                parameters.append(_other(value))
        if statement.name:
            self._pg.send_query_prepared(statement.name, parameters, formats, _BINARY)
        else:
            self._pg.send_query_params(statement.sql, parameters, None, formats, _BINARY)
        result = Result(self, statement)
        self._expected.append(result)
        return result

    def _first_use(self, sql: str) -> _Statement:
        """A statement that comes for the second time is prepared: what filters ask for hardly ever does."""
        if sql not in self._seen:
            self._seen[sql] = None
            if len(self._seen) > SEEN:
                self._seen.popitem(last=False)
            return _Statement(sql, b"")
        del self._seen[sql]
        if len(self._statements) >= PREPARED:
            _sql, oldest = self._statements.popitem(last=False)
            self._send_text(b"DEALLOCATE " + oldest.name)
        self._names += 1
        statement = self._statements[sql] = _Statement(sql, b"s%d" % self._names)
        self._pg.send_prepare(statement.name, statement.sql)
        self._expected.append(_Preparing(self, statement, sql))
        return statement

    def _send_text(self, sql: bytes) -> None:
        self._pg.send_query_params(sql, None)
        self._expected.append(Result(self, _Statement("", b"")))

    # ---- answers ----------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Send what is to be sent, and wait until all of it is answered. Raises the first error of it."""
        self._sync()
        until = self._until()
        error: psycopg.Error | None = None
        while self._expected:
            error = self._take_arrived() or error
            if self._expected:
                self._wait(until)
        if error is not None:
            raise error

    def _take_arrived(self) -> psycopg.Error | None:
        """Read all replies that have arrived; return the first error."""
        pg, expected = self._pg, self._expected
        error: psycopg.Error | None = None
        while expected and not pg.is_busy():
            arrived = pg.get_result()
            if arrived is None:  # the end of one statement's answer
                if pg.status == pq.ConnStatus.BAD:
                    expected.clear()
                    return error or psycopg.OperationalError("the connection is lost")
                continue
            result = expected.popleft()
            if result is None:
                continue
            result.arrived = arrived
            if arrived.status in _WELL:
                continue
            if error is None and arrived.status != pq.ExecStatus.PIPELINE_ABORTED:
                error = error_from_result(arrived)
            if isinstance(result, _Preparing):
                del self._statements[result.sql]
        return error

    def _sync(self) -> None:
        pg = self._pg
        pg.pipeline_sync()
        self._expected.append(None)
        if not pg.flush():
            return
        until = self._until()
        both = select.poll()
        both.register(pg.socket, select.POLLIN | select.POLLOUT)
        while pg.flush():  # more than the socket takes at once
            if not both.poll(_milliseconds(until)):
                raise self._gives_up()
            pg.consume_input()

    def _wait(self, until: float) -> None:
        while not self._readable.poll(_milliseconds(until)):
            last = self._reads_until
            if last is None or time.monotonic() > last or not self._is_alive():
                raise self._gives_up()
            until = min(time.monotonic() + deadlines.look_after(), last)
        self._pg.consume_input()
        self.heard = True

    def _until(self) -> float:
        if self.until is None:
            return time.monotonic() + deadlines.STATEMENT_SECONDS
        if self._reads_until is not None:
            return time.monotonic() + deadlines.look_after()
        return max(self.until, time.monotonic() + deadlines.LEAST)

    def _gives_up(self) -> NoAnswer:
        self.close()  # discard late replies: the statement that waited for them has timed out
        return NoAnswer("the server does not answer")


def _milliseconds(until: float) -> float:
    return max(0.0, (until - time.monotonic()) * 1000)


def _text(value: str) -> bytes:
    encoded = value.encode()
    if 0 in encoded:  # libpq would take it for the end
        raise psycopg.DataError("PostgreSQL text cannot contain NUL (0x00) bytes")
    return encoded


def _other(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, (memoryview, bytearray)):
        return b"\\x" + bytes(value).hex().encode()
    return _text(str.__str__(value) if isinstance(value, str) else str(value))
