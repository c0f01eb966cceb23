"""The small world of the engine's tests: a database, one account, one user, and a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crofter.context import Actor, Context, Runtime
from crofter.db import Database, query
from crofter.db.deferred import evaluate
from crofter.db.sql import Boolean, Column, Integer, Text, bindparam, select
from crofter.engine import Operation, TimeTravel, Worker
from crofter.engine.tables import operation
from crofter.resources.account.store import account
from tests.engine.traced_operations import make_runtime


@pytest.fixture
def runtime(database: Database) -> Runtime:
    return make_runtime(database)


@pytest.fixture
def alice(runtime: Runtime) -> Actor:
    with runtime.database.write() as db:
        # Only that there is one matters here, so this does not care what resources keep of an account.
        columns = [column for column in evaluate(account).c if column.name != "id"]
        owner = db.insert(account, **{column.name: _anything(column) for column in columns})
    return Actor(owner, 1, "alice", False, 1, frozenset({"*"}))


def _anything(column: Column[Any]) -> Any:
    kinds = ((Boolean, False), (Integer, 0), (Text, ""))
    return next((value for kind, value in kinds if isinstance(column.type, evaluate(kind))), "2026-01-01T00:00:00")


class EngineHarness:
    """A worker and its clock control, with optional background queues."""

    def __init__(
        self, runtime: Runtime, operations: tuple[Operation, ...], pool_sizes: dict[str, int], **settings: Any
    ) -> None:
        self.runtime = runtime
        self.worker = Worker(runtime, operations, pool_sizes, **settings)
        self.worker.start()
        self.time_travel = TimeTravel(self.worker)

    def write(self, do: Callable[[Context], Any], actor: Actor | None = None) -> Any:
        with self.runtime.database.write() as db:
            return do(Context(self.runtime, db, actor))

    def operation(self, op_id: int | None, *columns: str) -> Any:
        """These columns of one operation, or None if there is no such row."""
        statement = select(*(operation.c[name] for name in columns)).where(operation.c.id == bindparam("id"))
        with self.runtime.database.read() as db:
            return db.maybe(query(statement, lambda *values: values), id=op_id)

    def states(self) -> list[str]:
        with self.runtime.database.read() as db:
            return [state for (state,) in db.raw("SELECT state FROM operation ORDER BY id").fetchall()]


@pytest.fixture
def harness(runtime: Runtime) -> Iterator[Callable[..., EngineHarness]]:
    """Return ``harness(OPERATION, …, queues={"std": 2})``: without queues only clock advances run operations."""
    made: list[EngineHarness] = []

    def make(*operations: Operation, pool_sizes: dict[str, int] | None = None, **settings: Any) -> EngineHarness:
        made.append(EngineHarness(runtime, operations, pool_sizes or {}, **settings))
        return made[-1]

    yield make
    for application in made:
        application.worker.stop(grace=5)
