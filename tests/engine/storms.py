"""Groups of worker processes that are killed and stopped, and the audit of what they leave behind."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw
import psycopg
from msgspec import Struct

from crofter.context import Context
from crofter.engine import Operation, enqueue
from tests.engine import traced_operations
from tests.engine.traced_operations import Nothing, Trace

_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload(
    ["tests.engine.traced_operations", "tests.engine.defects", "crofter.db.postgres", "crofter.db.sqlite"]
)
PATIENCE = 60.0
"""Seconds until a test that waits for something gives up. Never a measure of anything."""


def until(condition: Callable[[], Any], what: str, pause: float = 0.01) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(pause)


class Audit(Struct, frozen=True):
    """Counts of violations, which must be 0, and of completed work."""

    unfinished: int
    missing: int
    duplicated: int
    skipped: int
    inversions: int
    overlaps: int
    repeated: int
    crashes: int
    processes: int

    @property
    def faults(self) -> dict[str, int]:
        wrong = ("unfinished", "missing", "duplicated", "skipped", "inversions", "overlaps")
        return {name: getattr(self, name) for name in wrong if getattr(self, name)}


class WorkerFleet:
    """Worker processes on one database, which this process looks at but never works on."""

    def __init__(self, address: str, folder: Path, **settings: Any) -> None:
        self.address = address
        self.trace = Trace(folder / "trace")
        self._settings = settings
        self.members: list[Any] = []

    # ---- the database, looked at from outside -----------------------------------------------------------------------

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        if "://" in self.address:
            with psycopg.connect(self.address, autocommit=True) as postgres:
                return postgres.execute(sql.encode()).fetchall()
        connection = apsw.Connection(str(Path(self.address) / "crofter.db"))
        connection.set_busy_timeout(30_000)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def tell(self, sql: str) -> None:
        with psycopg.connect(self.address, autocommit=True) as postgres:
            postgres.execute(sql.encode())

    def live(self) -> int:
        return int(self.ask("SELECT count(*) FROM operation WHERE state IN ('queued', 'running', 'waiting')")[0][0])

    def prepare(self, kind: Operation, keys: Iterable[str | None]) -> list[int]:
        """Queue one operation per key, and let go of the database: on SQLite only one process may have it."""
        database = traced_operations.open_at(self.address)
        runtime = traced_operations.make_runtime(database)
        with database.write() as db:
            db.raw("CREATE TABLE IF NOT EXISTS effect (op BIGINT, step TEXT, pid INT)")
        with database.write() as db:
            ids = [enqueue(Context(runtime, db), kind, Nothing(), key=key) for key in keys]
        database.close()
        return [operation_id for operation_id in ids if operation_id is not None]

    # ---- the processes ----------------------------------------------------------------------------------------------

    def hire(self, **more: Any) -> Any:
        """Start a worker process and return it when it is working."""
        process = _fork.Process(
            target=traced_operations.work_until_killed,
            args=(self.address, self.trace.path),
            kwargs={**self._settings, **more},
            daemon=True,
        )
        process.start()
        self.members.append(process)
        until(lambda: self.trace.count("up", process.pid) or not process.is_alive(), "a worker to come up")
        return process

    def run(self, what: Callable[..., None], *args: Any) -> None:
        """Another process that does one thing, and may die over it."""
        process = _fork.Process(target=what, args=(self.address, *args), daemon=True)
        process.start()
        process.join()

    def kill(self, process: Any) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        self.members.remove(process)

    def dismiss(self) -> None:
        for process in tuple(self.members):
            if process.is_alive():
                os.kill(process.pid, signal.SIGCONT)
                self.kill(process)

    def storm(self, kind: Operation, keys: list[str], *, workers: int, kills: int, rng: random.Random) -> list[int]:
        """Keep ``workers`` at it, kill one of them again and again, and let the last ones finish. The operations."""
        alone = "://" not in self.address
        ids = self.prepare(kind, keys if alone else [])
        for _ in range(workers):
            self.hire()
        if not alone:
            ids = self.prepare(kind, keys)  # only now: the first worker would be through before the last is up
        while kills and self.live():
            time.sleep(rng.uniform(0.02, 0.15))
            busy = [member for member in self.members if member.pid in self._busy()]
            self.kill(rng.choice(busy or self.members))
            self.hire()
            kills -= 1
        until(lambda: not self.live(), "the last operations", 0.05)
        self.dismiss()
        return ids

    def _busy(self) -> set[int]:
        """Return the workers with an operation in progress."""
        rows = self.ask("SELECT w.pid FROM operation o JOIN worker w ON w.id = o.owner WHERE o.state = 'running'")
        return {int(pid) for (pid,) in rows}

    # ---- the audit --------------------------------------------------------------------------------------------------

    def audit(self, ids: list[int], effects: Iterable[str], outside: Iterable[str]) -> Audit:
        left = Counter((op, step) for op, step in self.ask("SELECT op, step FROM effect"))
        wanted = {(operation_id, step) for operation_id in ids for step in effects}
        lines = [line for line in self.trace.lines() if line[0] in ("begin", "end")]
        begun = Counter((int(line[1]), line[2]) for line in lines if line[0] == "begin")
        return Audit(
            unfinished=self.ask("SELECT count(*) FROM operation WHERE state <> 'done'")[0][0],
            missing=len(wanted - set(left)),
            duplicated=sum(1 for amount in left.values() if amount > 1),
            skipped=sum(1 for operation_id in ids for step in outside if not begun[(operation_id, step)]),
            inversions=_inversions(lines),
            overlaps=_overlaps(lines),
            repeated=sum(amount - 1 for amount in begun.values()),
            crashes=int(self.ask("SELECT coalesce(sum(crashes), 0) FROM operation")[0][0]),
            processes=len({line[3] for line in lines if int(line[1]) in set(ids)}),
        )


def _inversions(lines: list[list[str]]) -> int:
    """How often an operation acted after a later one of the same key had begun to."""
    furthest: dict[str, int] = defaultdict(int)
    count = 0
    for word, op, _, _, key, _ in lines:
        if word == "begin" and key != "-":
            count += int(op) < furthest[key]
            furthest[key] = max(furthest[key], int(op))
    return count


def _overlaps(lines: list[list[str]]) -> int:
    """How often an operation acted while another one of the same key, in a process that lived on, still did."""
    ended = {(line[1], line[2], line[3]) for line in lines if line[0] == "end"}
    active: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    count = 0
    for word, op, step, pid, key, _ in sorted(lines, key=lambda line: int(line[5])):
        if key == "-":
            continue
        if word == "begin":
            count += any(other[0] != op for other in active[key])
            if (op, step, pid) in ended:  # otherwise it was killed over it, and is active no more
                active[key].add((op, step, pid))
        else:
            active[key].discard((op, step, pid))
    return count
