"""The small world of the engine's tests: a database, one account, one user, and a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Integer, Text, bindparam, select

from crofter.context import Actor, Context, World
from crofter.db import Database, query
from crofter.engine import Conductor, Operation, Worker
from crofter.engine.tables import operation
from crofter.resources.account.store import account
from tests.engine.deeds import make_world


@pytest.fixture
def world(database: Database) -> World:
    return make_world(database)


@pytest.fixture
def alice(world: World) -> Actor:
    with world.database.write() as db:
        # Only that there is one matters here, so this does not care what rooms keep of an account.
        owner = db.insert(account, **{column.name: _anything(column) for column in account.c if column.name != "id"})
    return Actor(owner, 1, "alice", False, 1, frozenset({"*"}))


def _anything(column: Column[Any]) -> Any:
    kinds = ((Boolean, False), (Integer, 0), (Text, ""))
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "2026-01-01T00:00:00")


class Bench:
    """A worker and its conductor, with whatever lanes the test wants running in the background."""

    def __init__(self, world: World, operations: tuple[Operation, ...], lanes: dict[str, int], **settings: Any) -> None:
        self.world = world
        self.worker = Worker(world, operations, lanes, **settings)
        self.worker.start()
        self.conductor = Conductor(self.worker)

    def write(self, do: Callable[[Context], Any], actor: Actor | None = None) -> Any:
        with self.world.database.write() as db:
            return do(Context(self.world, db, actor))

    def operation(self, op_id: int | None, *columns: str) -> Any:
        """These columns of one operation, or None if there is no such row."""
        statement = select(*(operation.c[name] for name in columns)).where(operation.c.id == bindparam("id"))
        with self.world.database.read() as db:
            return db.maybe(query(statement, lambda *values: values), id=op_id)

    def states(self) -> list[str]:
        with self.world.database.read() as db:
            return [state for (state,) in db.raw("SELECT state FROM operation ORDER BY id").fetchall()]


@pytest.fixture
def bench(world: World) -> Iterator[Callable[..., Bench]]:
    """``bench(OPERATION, …, lanes={"std": 2})``: without lanes, only the conductor does anything."""
    made: list[Bench] = []

    def make(*operations: Operation, lanes: dict[str, int] | None = None, **settings: Any) -> Bench:
        made.append(Bench(world, operations, lanes or {}, **settings))
        return made[-1]

    yield make
    for one in made:
        one.worker.stop(grace=5)
