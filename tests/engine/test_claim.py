"""Claims: completeness, and cost with a long history and queue."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from crofter.context import Context, Runtime
from crofter.db.postgres import PostgresDatabase
from crofter.db.query import Compiled
from crofter.db.sqlite import SqliteDatabase
from crofter.engine import enqueue, queue
from tests.engine.defects import claim_without_order
from tests.engine.traced_operations import HOT, Nothing, make_runtime


def _claim_beside_a_claim_in_flight(database: PostgresDatabase, runtime: Runtime) -> Any:
    """Another worker has just taken hold of the head of a key; what does a second one get?"""
    with database.write() as db:
        head = enqueue(Context(runtime, db), HOT, Nothing(), key="k")
        enqueue(Context(runtime, db), HOT, Nothing(), key="k")
        db.raw("INSERT INTO worker (id, host, pid, lease) VALUES (7, 'here', 1, 0)")
    with database.write() as first, database.write() as second:
        first.raw("SELECT 1 FROM operation WHERE id = %s FOR UPDATE", (head,))
        return queue.claim(second, 7, runtime.clock.now() + 1000, "std")


def test_a_claim_never_passes_a_head_that_is_just_being_taken(postgres_database: PostgresDatabase) -> None:
    assert _claim_beside_a_claim_in_flight(postgres_database, make_runtime(postgres_database)) is None


def test_the_quick_claim_would_pass_it(postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "CLAIM_QUEUE", claim_without_order())
    assert _claim_beside_a_claim_in_flight(postgres_database, make_runtime(postgres_database)) is not None


FINISHED = 100_000
BLOCKED = 5_000
_FILL = (
    "INSERT INTO operation (kind, version, queue, key, state, due, cursor, input, vars, created, finished)"
    " SELECT 't.quick', 1, 'std', {key}, '{state}', n + {after}, 'run', '{{}}', '{{}}', n, {finished}"
    " FROM ({numbers}) AS numbers"
)
_NUMBERS = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {n}) SELECT n FROM c",
    "postgresql": "SELECT generate_series(1, {n}) AS n",
}


def _fill(runtime: Runtime, state: str, amount: int, key: str, after: int = 0) -> None:
    finished = "n" if state == "done" else "NULL"
    with runtime.database.write() as db:
        numbers = _NUMBERS[db.dialect].format(n=amount)
        db.raw(_FILL.format(key=key, state=state, finished=finished, numbers=numbers, after=after))
        db.raw("DELETE FROM worker")
        db.raw("INSERT INTO worker (id, host, pid, lease) VALUES (7, 'here', 1, 0)")


def _claim_sql(dialect: str, blind: bool) -> tuple[str, Any]:
    """The claim; ``blind``, with its states written so that no partial index is seen to fit."""
    compiled: Compiled = queue.CLAIM_QUEUE.compiled(dialect)
    sql = compiled.sql.replace("candidate.state IN", "candidate.state || '' IN") if blind else compiled.sql
    assert blind == (sql != compiled.sql)
    return sql, compiled.values({"me": 7, "now": 10**9, "queue": "std"})


def _sqlite_work(database: SqliteDatabase, *, blind: bool = False) -> int:
    """Return the cost of a claim in steps of SQLite's virtual machine."""
    connection = apsw.Connection(str(database.path))
    counted = [0]

    def tick() -> bool:
        counted[0] += 1
        return False

    connection.execute("BEGIN IMMEDIATE")
    connection.set_progress_handler(tick, 10)
    assert connection.execute(*_claim_sql("sqlite", blind)).fetchone() is not None
    connection.set_progress_handler(None)
    connection.execute("ROLLBACK")
    connection.close()
    return counted[0] * 10


def test_history_costs_a_claim_nothing_on_sqlite(sqlite_database: SqliteDatabase) -> None:
    runtime = make_runtime(sqlite_database)
    _fill(runtime, "queued", 10, "'k' || n")
    young = _sqlite_work(sqlite_database)
    _fill(runtime, "done", FINISHED, "'k' || n")
    assert _sqlite_work(sqlite_database) <= young * 1.1
    assert _sqlite_work(sqlite_database, blind=True) > young * 100  # the measure sees it when history is read


def test_a_deep_backlog_on_one_key_costs_a_scan_of_itself_at_most_on_sqlite(sqlite_database: SqliteDatabase) -> None:
    runtime = make_runtime(sqlite_database)
    _fill(runtime, "queued", 10, "'k' || n", after=BLOCKED)
    before = _sqlite_work(sqlite_database)
    _fill(runtime, "running", 1, "'hot'")
    _fill(runtime, "queued", BLOCKED, "'hot'")
    blocked = _sqlite_work(sqlite_database)
    _fill(runtime, "done", FINISHED, "'hot'")
    assert before < blocked <= before + 60 * BLOCKED  # some instructions per row that is passed over, not rows squared
    assert _sqlite_work(sqlite_database) <= blocked * 1.1


def _rows_touched(plan: dict[str, Any]) -> float:
    passed = float(plan.get("Rows Removed by Filter", 0)) + float(plan.get("Rows Removed by Index Recheck", 0))
    own = (float(plan["Actual Rows"]) + passed) * float(plan["Actual Loops"])
    return own + sum(_rows_touched(part) for part in plan.get("Plans", ()))


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]


def _postgres_plan(database: PostgresDatabase, mode: str, *, blind: bool = False) -> dict[str, Any]:
    sql, values = _claim_sql("postgresql", blind)
    with database.connect() as connection:
        connection.execute("BEGIN")
        connection.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
        row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}".encode(), values).fetchone()
        connection.execute("ROLLBACK")
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_a_claim_touches_no_history_and_a_backlog_once_on_postgresql(
    postgres_database: PostgresDatabase, mode: str
) -> None:
    """Also when it is planned without knowing the values, as a statement is that has been used a few times."""
    runtime = make_runtime(postgres_database)
    _fill(runtime, "done", FINISHED, "'hot'")
    _fill(runtime, "running", 1, "'hot'")
    _fill(runtime, "queued", BLOCKED, "'hot'")
    _fill(runtime, "queued", 10, "'k' || n", after=BLOCKED)
    with postgres_database.write() as db:
        db.raw("ANALYZE operation")
    plan = _postgres_plan(postgres_database, mode)
    scans = {node.get("Index Name", node["Node Type"]) for node in _nodes(plan) if "Scan" in node["Node Type"]}
    assert "Seq Scan" not in scans, scans
    assert _rows_touched(plan) < 6 * BLOCKED
    assert _rows_touched(_postgres_plan(postgres_database, mode, blind=True)) > FINISHED  # the measure sees it
