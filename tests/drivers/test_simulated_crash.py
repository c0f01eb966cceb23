"""The simulated world survives kill -9 at any moment, and is shared by several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from crofter.db import open_database
from crofter.drivers.hypervisor import Seed
from crofter.drivers.hypervisor.ledger.entries import digest
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor, Transition
from tests.databases import PostgresServer
from tests.drivers.harness import DriverCase
from tests.drivers.lives import create_store, life, open_driver
from tests.drivers.simulated_harness import SimulatedHarness


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store where work takes no time."""
    if request.param == "sqlite":
        place = str(tmp_path)
        database = open_database(None, tmp_path)
        create_store(database)
        database.close()
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        place = server.address(server.create())
    database, driver = open_driver(place)
    driver.set_transitions({"*": Transition(seconds=0)})
    database.close()
    return place


Spawn = Callable[[str, int], subprocess.Popen[str]]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Return a function that starts worker processes, all of which end with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(address: str, fence: int) -> subprocess.Popen[str]:
        code = f"from tests.drivers.lives import work; work({address!r}, {fence})"
        started.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def _killed(process: subprocess.Popen[str], lives: int, pause: float = 0.0) -> int:
    """Kill it when it has said that so many lives are done, and a moment has passed; the last that it said."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(lives)]
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.read().splitlines()
    process.wait()
    return int(lines[-1])


def _finish(driver: SimulatedHypervisor, last: int, fence: int) -> None:
    """Go through all lives once more: everything is there, and nothing was done twice."""
    numbers = list(range(1, last + 2))
    for number in numbers:
        life(driver, number, fence)
    listed = driver.list()
    assert [ref.id for ref in listed.domains] == numbers
    assert [ref.id for ref in listed.disks] == [2 * number for number in numbers]
    for ref, number in zip(listed.disks, numbers, strict=True):
        seen = driver.observe(ref)
        assert seen.size == 200
        assert seen.content == digest("seed", digest("empty", "ext4"), f"{number}:seed", (), None), "written twice"


def test_a_process_whose_clock_is_behind_still_goes_on_with_the_operation(harness: SimulatedHarness) -> None:
    case = DriverCase(harness)
    machine, order = case.machine(), case.order("size")
    case.done(lambda: case.driver.ensure_size(machine.root, 6000, order))
    harness.wait(-0.05)
    boot, seed = replace(order, step="boot", fence=2), replace(order, step="seed", fence=2)
    for call in (
        lambda: case.driver.ensure_size(machine.root, 6000, replace(order, fence=2)),
        lambda: case.driver.ensure_seed(machine.root, Seed(password="a-long-pass-phrase"), seed),
        lambda: case.driver.ensure_running(machine.domain, boot),
    ):
        case.done(call)
    assert case.power(machine.domain) == "on"


def test_killed_at_any_moment_it_goes_on_where_it_was(address: str, spawn: Spawn) -> None:
    pauses = (0.003, 0.011, 0.007)  # within a life, which takes some 10 ms
    last = max(_killed(spawn(address, fence), 3 * fence, pause) for fence, pause in enumerate(pauses, start=1))
    database, driver = open_driver(address)
    _finish(driver, last, fence=9)
    database.close()


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_two_processes_with_the_same_orders_do_each_of_them_once(address: str, spawn: Spawn) -> None:
    pair = [spawn(address, 1), spawn(address, 1)]
    reached = [_killed(process, 12) for process in pair]
    database, driver = open_driver(address)
    _finish(driver, max(reached), fence=1)
    database.close()
