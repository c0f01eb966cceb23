"""Admission, order and cancellation: what the queue promises to who writes into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from crofter.clock import DAY, HOUR
from crofter.context import Actor, Context, World
from crofter.db.lite import SqliteDatabase
from crofter.db.postgres import PostgresDatabase
from crofter.db.query import Compiled
from crofter.engine import Operation, Sleep, Work, admit, cancel, enqueue, prune, queue, step, tx_step
from crofter.engine.metrics import depth
from crofter.errors import Busy
from crofter.journal import Author
from tests.engine.conftest import Bench
from tests.engine.deeds import Nothing, make_world
from tests.engine.defects import claim_without_order

Benches = Callable[..., Bench]
ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tx_step()
def run(ctx: Context, work: Work) -> None:
    ran.append(work.key or str(work.id))


@step()
def linger(work: Work) -> Sleep | None:
    ran.append(f"{work.key} {work.vars.setdefault('looks', 0)}")
    work.vars["looks"] += 1
    return Sleep(60) if work.vars["looks"] < 3 else None


QUICK = Operation(kind="t.quick", args=Nothing, steps=(run,))
FUSSY = Operation(kind="t.fussy", args=Nothing, steps=(run,), admission="reject")
LONG = Operation(kind="t.long", args=Nothing, steps=(linger,))
EVERYTHING = (QUICK, FUSSY, LONG)


def put(house: Bench, kind: Operation = QUICK, actor: Actor | None = None, **how: Any) -> Any:
    return house.write(lambda ctx: enqueue(ctx, kind, Nothing(), **how), actor)


def test_an_operation_exists_only_if_its_request_commits(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    with pytest.raises(ZeroDivisionError):
        house.write(lambda ctx: (enqueue(ctx, QUICK, Nothing()), 1 // 0))
    assert house.states() == []
    put(house)
    assert house.states() == ["queued"]


def test_the_same_dedup_is_taken_once_even_after_it_ended(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    assert put(house, dedup="backup:1@monday") is not None
    assert put(house, dedup="backup:1@monday") is None
    house.conductor.drain()
    assert put(house, dedup="backup:1@monday") is None
    assert put(house, dedup="backup:1@tuesday") is not None
    assert house.states() == ["done", "queued"]


def test_an_operation_that_will_not_queue_is_refused_while_its_key_is_busy(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    put(house, FUSSY, alice, key="instance:1")
    with pytest.raises(Busy):
        put(house, FUSSY, alice, key="instance:1")
    put(house, FUSSY, alice, key="instance:2")
    house.conductor.drain()
    put(house, FUSSY, alice, key="instance:1")


def test_a_key_is_busy_while_its_operation_sleeps_and_free_while_one_waits_for_tomorrow(
    bench: Benches, alice: Actor
) -> None:
    house = bench(*EVERYTHING)
    put(house, LONG, alice, key="a")
    put(house, QUICK, alice, key="b", due=house.world.clock.now() + DAY)
    house.conductor.drain()
    with pytest.raises(Busy):
        house.write(lambda ctx: admit(ctx, "a"), alice)
    house.write(lambda ctx: admit(ctx, "b"), alice)


def test_one_key_is_served_in_order_and_the_future_does_not_block_it(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    put(house, LONG, key="k")
    later = put(house, QUICK, key="k", due=house.world.clock.now() + HOUR)
    put(house, QUICK, key="k")
    put(house, QUICK, key="other")
    house.conductor.settle()
    assert ran == ["k 0", "other", "k 1", "k 2", "k"]
    assert house.operation(later, "state") == ("queued",)
    house.conductor.advance(3600)
    assert house.operation(later, "state") == ("done",)


def test_the_author_is_the_caller_unless_another_is_named(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    own = put(house, QUICK, alice)
    named = put(house, QUICK, alice, author=Author(alice.account_id, None, "lassie"))
    nobody = put(house)
    assert house.operation(own, "account_id", "user_id", "username") == (alice.account_id, 1, "alice")
    assert house.operation(named, "account_id", "user_id", "username") == (alice.account_id, None, "lassie")
    assert house.operation(nobody, "account_id", "user_id", "username") == (None, None, None)


# ---- cancelling -----------------------------------------------------------------------------------------------------


def test_what_is_queued_is_cancelled_at_once_and_its_room_is_told(bench: Benches, alice: Actor) -> None:
    told: list[str] = []
    kind = Operation(
        kind="t.told", args=Nothing, steps=(run,), failed=lambda ctx, work, reason: told.append(reason), erased=("x",)
    )
    house = bench(kind)
    op_id = put(house, kind, alice, key="k")
    assert house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.operation(op_id, "state") == ("cancelled",)
    assert told == ["The operation was cancelled."]
    assert not house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.conductor.drain() == 0


def test_what_sleeps_is_woken_to_be_cancelled(bench: Benches, alice: Actor) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    op_id = put(house, LONG, alice, key="k")
    house.conductor.drain()
    house.write(lambda ctx: cancel(ctx, op_id), alice)
    assert house.conductor.drain() == 1
    assert house.operation(op_id, "state") == ("cancelled",)
    assert ran == ["k 0"]


def test_what_is_under_way_stops_at_its_next_checkpoint(bench: Benches, alice: Actor) -> None:
    seen: list[bool] = []

    @step()
    def notice(work: Work) -> None:
        seen.append(work.cancelled)
        house.write(lambda ctx: cancel(ctx, work.id), alice)
        work._looked = 0.0
        seen.append(work.cancelled)
        work.then(lambda ctx: ran.append("kept"))

    kind = Operation(kind="t.notice", args=Nothing, steps=(notice, run))
    house = bench(kind)
    op_id = put(house, kind, alice, key="k")
    assert house.conductor.drain() == 1
    assert seen == [False, True]
    assert ran == ["kept"]
    assert house.operation(op_id, "state") == ("cancelled",)


def test_a_last_step_that_is_done_is_done(bench: Benches, alice: Actor) -> None:
    @step()
    def finish(work: Work) -> None:
        house.write(lambda ctx: cancel(ctx, work.id), alice)

    kind = Operation(kind="t.finish", args=Nothing, steps=(finish,))
    house = bench(kind)
    op_id = put(house, kind, alice)
    house.conductor.drain()
    assert house.operation(op_id, "state") == ("done",)


# ---- looking after the table ----------------------------------------------------------------------------------------


def test_old_operations_are_forgotten_and_live_ones_are_not(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    for _ in range(5):
        put(house)
    house.conductor.drain()
    put(house, QUICK, due=house.world.clock.now() + 200 * DAY)
    house.conductor.advance(89 * 86400)
    assert prune(house.world) == 0
    house.conductor.advance(2 * 86400)
    assert prune(house.world, batch=2) == 5
    assert house.states() == ["queued"]


def test_the_depth_of_each_lane_can_be_read(bench: Benches) -> None:
    house = bench(*EVERYTHING)
    house.conductor.freeze()
    put(house, LONG, key="k")
    house.conductor.drain()
    put(house, key="k")
    with house.world.database.read() as db:
        found = {(one.state, one.amount, one.oldest_due - house.world.clock.now()) for one in depth(db)}
    assert found == {("waiting", 1, 60_000), ("queued", 1, 0)}


# ---- the claim ------------------------------------------------------------------------------------------------------


def _claim_beside_a_claim_in_flight(database: PostgresDatabase, world: World) -> Any:
    """Another worker has just taken hold of the head of a key; what does a second one get?"""
    with database.write() as db:
        head = enqueue(Context(world, db), QUICK, Nothing(), key="k")
        enqueue(Context(world, db), QUICK, Nothing(), key="k")
        db.raw("INSERT INTO worker (id, host, pid, lease) VALUES (7, 'here', 1, 0)")
    with database.write() as first, database.write() as second:
        first.raw("SELECT 1 FROM operation WHERE id = %s FOR UPDATE", (head,))
        return queue.claim(second, 7, world.clock.now() + 1000, "std")


def test_a_claim_never_passes_a_head_that_is_just_being_taken(postgres_database: PostgresDatabase) -> None:
    assert _claim_beside_a_claim_in_flight(postgres_database, make_world(postgres_database)) is None


def test_the_quick_claim_would_pass_it(postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "CLAIM_LANE", claim_without_order())
    assert _claim_beside_a_claim_in_flight(postgres_database, make_world(postgres_database)) is not None


FINISHED = 100_000
BLOCKED = 5_000
_FILL = (
    "INSERT INTO operation (kind, version, lane, key, state, due, cursor, input, vars, created, finished)"
    " SELECT 't.quick', 1, 'std', {key}, '{state}', n + {after}, 'run', '{{}}', '{{}}', n, {finished} FROM ({numbers}) AS s"
)
_NUMBERS = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {n}) SELECT n FROM c",
    "postgresql": "SELECT generate_series(1, {n}) AS n",
}


def _fill(world: World, state: str, amount: int, key: str, after: int = 0) -> None:
    finished = "n" if state == "done" else "NULL"
    with world.database.write() as db:
        numbers = _NUMBERS[db.dialect].format(n=amount)
        db.raw(_FILL.format(key=key, state=state, finished=finished, numbers=numbers, after=after))
        db.raw("DELETE FROM worker")
        db.raw("INSERT INTO worker (id, host, pid, lease) VALUES (7, 'here', 1, 0)")


def _claim_sql(dialect: str) -> tuple[str, Any]:
    compiled: Compiled = queue.CLAIM_LANE.compiled(dialect)
    return compiled.sql, compiled.values({"me": 7, "now": 10**9, "lane": "std"})


def _sqlite_work(database: SqliteDatabase) -> int:
    """What a claim costs, counted in the steps of SQLite's own machine."""
    connection = sqlite3.connect(database.path, isolation_level=None)
    counted = [0]

    def tick() -> int:
        counted[0] += 1
        return 0

    connection.execute("BEGIN IMMEDIATE")
    connection.set_progress_handler(tick, 10)
    assert connection.execute(*_claim_sql("sqlite")).fetchone() is not None
    connection.set_progress_handler(None, 0)
    connection.execute("ROLLBACK")
    connection.close()
    return counted[0] * 10


def test_history_costs_a_claim_nothing_on_sqlite(sqlite_database: SqliteDatabase) -> None:
    world = make_world(sqlite_database)
    _fill(world, "queued", 10, "'k' || n")
    young = _sqlite_work(sqlite_database)
    _fill(world, "done", FINISHED, "'k' || n")
    assert _sqlite_work(sqlite_database) <= young * 1.1


def test_a_deep_backlog_on_one_key_costs_a_scan_of_itself_at_most_on_sqlite(sqlite_database: SqliteDatabase) -> None:
    world = make_world(sqlite_database)
    _fill(world, "queued", 10, "'k' || n", after=BLOCKED)
    before = _sqlite_work(sqlite_database)
    _fill(world, "running", 1, "'hot'")
    _fill(world, "queued", BLOCKED, "'hot'")
    blocked = _sqlite_work(sqlite_database)
    _fill(world, "done", FINISHED, "'hot'")
    assert before < blocked <= before + 60 * BLOCKED  # some instructions per row that is passed over, not rows squared
    assert _sqlite_work(sqlite_database) <= blocked * 1.1


def _rows_touched(plan: dict[str, Any]) -> float:
    passed = float(plan.get("Rows Removed by Filter", 0)) + float(plan.get("Rows Removed by Index Recheck", 0))
    own = (float(plan["Actual Rows"]) + passed) * float(plan["Actual Loops"])
    return own + sum(_rows_touched(part) for part in plan.get("Plans", ()))


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]


def test_a_claim_touches_no_history_and_a_backlog_once_on_postgresql(postgres_database: PostgresDatabase) -> None:
    world = make_world(postgres_database)
    _fill(world, "done", FINISHED, "'hot'")
    _fill(world, "running", 1, "'hot'")
    _fill(world, "queued", BLOCKED, "'hot'")
    _fill(world, "queued", 10, "'k' || n", after=BLOCKED)
    with postgres_database.write() as db:
        db.raw("ANALYZE operation")
    sql, values = _claim_sql("postgresql")
    with pytest.raises(InterruptedError), postgres_database.write() as db:
        # As prepared statements are planned once they have been used a few times: without knowing the values.
        for mode in ("force_custom_plan", "force_generic_plan"):
            db.raw(f"SET LOCAL plan_cache_mode = {mode}")
            plan = db.raw("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, values).fetchone()[0][0]["Plan"]
            scans = {node.get("Index Name", node["Node Type"]) for node in _nodes(plan) if "Scan" in node["Node Type"]}
            assert "Seq Scan" not in scans, scans
            assert _rows_touched(plan) < 6 * BLOCKED
        raise InterruptedError  # leave it as it was
