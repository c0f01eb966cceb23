"""No operation is lost, repeated or reordered, whatever happens to the worker processes."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crofter.clock import MINUTE
from crofter.context import Context
from crofter.engine import TimeTravel, Worker, enqueue
from tests.databases import PostgresServer
from tests.engine import traced_operations
from tests.engine.storms import WorkerFleet, until
from tests.engine.traced_operations import DEADLY, EFFECTS, FIVE, HOLD, HOT, OUTSIDE, Nothing


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    """Where processes find a fresh database: a folder, or an address."""
    return str(request.getfixturevalue("sqlite_folder" if request.param == "sqlite" else "postgres_address"))


@pytest.fixture
def fleet(address: str, tmp_path: Path) -> Iterator[Any]:
    made: list[WorkerFleet] = []

    def make(**settings: Any) -> WorkerFleet:
        made.append(WorkerFleet(address, tmp_path, **settings))
        return made[-1]

    yield make
    for workers in made:
        workers.dismiss()


postgres_only = pytest.mark.parametrize("address", ["postgresql"], indirect=True)
sqlite_only = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


TRIES = 5
"""How often it is tried again when nothing has met by chance, which proves nothing either way."""


def storm(fleet: WorkerFleet, *, workers: int, kills: int, operations: int, seed: int = 1) -> dict[str, int]:
    keys, faults = [f"k{number % 8}" for number in range(operations)], dict[str, int]()
    for attempt in range(TRIES):
        ids = fleet.storm(FIVE, keys, workers=workers, kills=kills, rng=random.Random(f"{seed} {attempt}"))
        audit = fleet.audit(ids, EFFECTS, OUTSIDE)
        faults |= audit.faults
        if audit.crashes:
            return faults
    raise AssertionError("no kill has hit an operation: the storms prove nothing")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_storm_of_kills_loses_nothing_and_doubles_nothing(fleet: Any, address: str, workers: int) -> None:
    if workers > 1 and "://" not in address:
        pytest.skip("one process by rule")
    assert storm(fleet(), workers=workers, kills=4, operations=60) == {}


@sqlite_only
def test_the_storm_sees_an_effect_that_commits_apart_from_its_checkpoint(fleet: Any) -> None:
    careless = fleet(defect="checkpoint apart")
    assert any("duplicated" in storm(careless, workers=1, kills=4, operations=60) for _ in range(TRIES))


@pytest.mark.soak  # the harness is proved in every run by another test
@postgres_only
def test_the_storm_sees_an_effect_that_commits_after_its_checkpoint(fleet: Any) -> None:
    careless = fleet(defect="effect late")
    assert any("missing" in storm(careless, workers=2, kills=4, operations=60) for _ in range(TRIES))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_long_storm(fleet: Any, address: str, workers: int, seed: int) -> None:
    if workers > 1 and "://" not in address:
        pytest.skip("one process by rule")
    assert storm(fleet(), workers=workers, kills=40, operations=1500, seed=seed) == {}


# ---- stopped, not dead ----------------------------------------------------------------------------------------------


def stopped_and_woken(fleet: WorkerFleet) -> int:
    """A worker is stopped in the middle of a step; another takes over; then the first wakes. The effects left."""
    [op] = fleet.prepare(HOLD, ["k"])
    sleeper = fleet.hire()
    until(lambda: fleet.trace.count("holding", sleeper.pid), "the step")
    os.kill(sleeper.pid, signal.SIGSTOP)
    fleet.hire()
    until(lambda: not fleet.live(), "the successor")
    fleet.trace.path.with_suffix(".gate").touch()
    os.kill(sleeper.pid, signal.SIGCONT)
    until(lambda: fleet.trace.count("fenced", sleeper.pid) + fleet.trace.count("done", sleeper.pid), "the sleeper")
    fleet.dismiss()
    return int(fleet.ask(f"SELECT count(*) FROM effect WHERE op = {op}")[0][0])


@postgres_only
def test_a_worker_that_was_only_asleep_finds_the_fence_closed(fleet: Any) -> None:
    assert stopped_and_woken(fleet(lease=1.0, threads=1)) == 1


@postgres_only
def test_without_the_fence_the_sleeper_would_write_again(fleet: Any) -> None:
    assert stopped_and_woken(fleet(lease=1.0, threads=1, defect="no fence")) == 2


# ---- two processes, few keys ----------------------------------------------------------------------------------------


def hot_keys(fleet: WorkerFleet, operations: int) -> dict[str, int]:
    faults = dict[str, int]()
    for _ in range(TRIES):
        fleet.prepare(HOT, [])
        fleet.hire()
        fleet.hire()
        ids = fleet.prepare(HOT, [f"k{number % 3}" for number in range(operations)])  # for both of them at once
        until(lambda: not fleet.live(), "the operations", 0.05)
        fleet.dismiss()
        audit = fleet.audit(ids, (), ("touch",))
        faults |= audit.faults
        if audit.processes >= 2:
            return faults
    raise AssertionError("only one process took part: nothing was contested")


def is_seen(fault: str, fleet: WorkerFleet) -> bool:
    """Two processes need not meet each time that they could."""
    return any(fault in hot_keys(fleet, 250) for _ in range(TRIES))


@postgres_only
def test_two_processes_never_meet_on_a_key_and_never_pass_each_other(fleet: Any) -> None:
    assert hot_keys(fleet(threads=6), 250) == {}


@pytest.mark.soak  # the harness is proved in every run by another test
@postgres_only
def test_the_quick_claim_would_let_a_later_one_pass(fleet: Any) -> None:
    assert is_seen("inversions", fleet(threads=6, defect="no order"))


@postgres_only
def test_without_exclusion_they_would_meet(fleet: Any) -> None:
    lawless = fleet(threads=6, defect="no exclusion")
    lawless.prepare(HOT, [])
    lawless.tell("DROP INDEX op_one_per_key")
    assert is_seen("overlaps", lawless)


@pytest.mark.soak
@postgres_only
@pytest.mark.parametrize("_round", range(10))
def test_hot_keys_for_long(fleet: Any, _round: int) -> None:
    assert hot_keys(fleet(threads=8), 3000) == {}


# a step that kills its worker


def test_an_operation_that_kills_its_workers_is_given_up(fleet: Any) -> None:
    gang = fleet(cap=3, threads=1)
    gang.prepare(DEADLY, [None])
    for _ in range(3):
        gang.hire().join()
    assert gang.live() == 1
    survivor = gang.hire()
    until(lambda: not gang.live(), "the end of it")
    assert survivor.is_alive()
    assert gang.ask("SELECT state, crashes FROM operation") == [("failed", 3)]


# ---- killed around the commit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moment", "left"), [("before", 0), ("after", 1)])
def test_a_request_killed_around_its_commit_leaves_all_or_nothing(fleet: Any, moment: str, left: int) -> None:
    client = fleet()
    client.prepare(FIVE, [])
    client.run(traced_operations.request_killed, moment)
    assert client.ask("SELECT count(*) FROM operation") == [(left,)]
    assert client.ask("SELECT count(*) FROM effect") == [(left,)]


# ---- the database goes away -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def doomed_server() -> Iterator[PostgresServer]:
    """A server of its own: others should not be troubled by its end."""
    server = PostgresServer()
    yield server
    server.close()


def database_killed(server: PostgresServer, folder: Path, *, forgetful: bool = False) -> dict[str, int]:
    name = server.create()
    fleet = WorkerFleet(server.address(name), folder, lease=3.0)
    ids = fleet.prepare(FIVE, [f"k{number % 8}" for number in range(120)])
    if forgetful:
        fleet.tell(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        fleet.hire()
        fleet.hire()
        for enough in (30, 120):
            until(lambda: fleet.trace.count("begin") > enough, "some work")  # noqa: B023 - called before it changes
            server.crash()
            server.start()
        until(lambda: not fleet.live(), "the rest of the work", 0.05)
        assert all(member.is_alive() for member in fleet.members)
    finally:
        fleet.dismiss()
    return fleet.audit(ids, EFFECTS, OUTSIDE).faults


def test_work_goes_on_after_the_database_was_killed(doomed_server: PostgresServer, tmp_path: Path) -> None:
    assert database_killed(doomed_server, tmp_path) == {}


@pytest.mark.soak  # the harness is proved in every run by another test
def test_a_database_that_forgets_commits_is_seen(doomed_server: PostgresServer, tmp_path: Path) -> None:
    assert database_killed(doomed_server, tmp_path, forgetful=True) != {}


def test_a_time_travel_that_dies_leaves_a_clock_that_runs(fleet: Any, address: str) -> None:
    team = fleet()
    team.prepare(DEADLY, [None])
    team.run(traced_operations.travel)
    assert team.ask("SELECT value FROM meta WHERE name = 'time_travelling'") == [('"real"',)]
    database = traced_operations.open_at(address)
    runtime = traced_operations.make_runtime(database)
    worker = Worker(runtime, traced_operations.OPERATIONS, {}, lease=0.3)
    worker.start()
    until(lambda: runtime.clock.setting.mode == "real", "somebody to notice")
    worker.stop()
    database.close()


@postgres_only
def test_a_time_travel_silences_the_workers_of_other_processes(fleet: Any, address: str) -> None:
    team = fleet()
    team.prepare(HOT, [])
    team.hire()
    database = traced_operations.open_at(address)
    runtime = traced_operations.make_runtime(database, team.trace.path)
    worker = Worker(runtime, traced_operations.OPERATIONS, {})
    worker.start()
    with database.write() as db:
        ctx = Context(runtime, db)
        for minutes in range(30):
            enqueue(ctx, HOT, Nothing(), due=ctx.now + (minutes + 1) * MINUTE)
    assert TimeTravel(worker).advance(1800)[1] == 30
    assert {int(line[3]) for line in team.trace.lines() if line[0] == "begin"} == {os.getpid()}
    with database.write() as db:
        enqueue(Context(runtime, db), HOT, Nothing(), due=runtime.clock.now() - MINUTE)  # due by the moved clock only
    until(lambda: not team.live(), "the other process, which knows what time it is")
    worker.stop()
    database.close()
