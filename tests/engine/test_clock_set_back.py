"""A machine whose clock is set back: service time goes on, in a running server and over a restart."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crofter import clock as clocks
from crofter.clock import HOUR, SECOND, Clock, parse
from crofter.db.postgres import PostgresDatabase
from crofter.engine import timekeeping
from crofter.engine.heartbeat import WORKERS, Heartbeat
from crofter.engine.metrics import Metrics
from crofter.engine.tables import worker
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.engine.traced_operations import make_runtime

Open = Callable[..., Cloud]


def set_back(milliseconds: int = HOUR) -> Callable[[], int]:
    """The clock of a machine that was set back by so much."""
    return lambda: time.time_ns() - milliseconds * 1_000_000


def hurried(cloud: Cloud) -> Cloud:
    """Work takes a moment of real time there, instead of seconds."""
    assert cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0.2}}).status_code == 200
    return cloud


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Servers on one data folder or one database, one after the other or, on PostgreSQL, together."""
    where: dict[str, Any] = {"data": str(tmp_path)}
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        where = {"database": server.address(server.create()), "secret_key": "0" * 64}
    clouds: list[Cloud] = []

    def start(**settings: Any) -> Cloud:
        clouds.append(hurried(Cloud(**where, **settings)))
        return clouds[-1]

    yield start
    for cloud in clouds:
        if not cloud._server.should_exit:
            cloud.close()


def behind(cloud: Cloud) -> float:
    """Return the metric of the clock's lag."""
    lines = cloud.sandbox.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("crofter_clock_behind_seconds "))


def now(cloud: Cloud) -> int:
    return parse(cloud.sandbox.get("/_sandbox/clock").json()["now"])


def until(holds: Callable[[], Any], seconds: float = 30) -> Any:
    limit = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.05)
    return value


def create(client: httpx2.Client) -> int:
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "Very-l0ng-and-good!"}
    answer = client.post("/v4/compute/instances", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def running(client: httpx2.Client, number: int) -> bool:
    return bool(client.get(f"/v4/compute/instances/{number}").json()["status"] == "running")


def durations(client: httpx2.Client) -> list[float]:
    events = client.get("/v4/account/events", params={"page_size": 100}).json()["data"]
    return [event["duration"] for event in events if event["duration"] is not None]


def expired(cloud: Cloud) -> httpx2.Client:
    """A client whose token has just run out."""
    client = cloud.client(cloud.token("admin", expires_in=1))
    until(lambda: client.get("/v4/tags").status_code == 401)
    return client


# ---- the clock alone -----------------------------------------------------------------------------------------------


def test_time_runs_on_when_the_machine_is_set_back_and_follows_it_once_it_is_right_again() -> None:
    clock = Clock()
    before = clock.now()
    clock.wall = set_back()
    first = clock.now()
    time.sleep(0.05)
    second = clock.now()
    assert before <= first < second < before + 10 * SECOND
    assert 3590 < clock.behind() < 3610
    clock.wall = time.time_ns
    assert second <= clock.now() < before + 10 * SECOND
    assert clock.behind() == 0


def test_a_steady_clock_that_is_set_too_neither_stops_time_nor_makes_it_jump() -> None:
    """Tools that play tricks on a process move all of its clocks at once."""
    clock = Clock()
    before = clock.now()
    clock.wall, clock.steady = set_back(), lambda: time.monotonic_ns() - HOUR * 1_000_000
    first = clock.now()
    time.sleep(0.05)
    assert before <= first < clock.now() < before + 10 * SECOND
    clock.wall, clock.steady = time.time_ns, time.monotonic_ns
    assert before < clock.now() < before + 20 * SECOND


def test_a_clock_that_was_ahead_is_met_again_since_time_goes_slower_meanwhile() -> None:
    clock = Clock()
    clock.raise_to(clock.machine() + 10)
    until(lambda: clock.machine() == time.time_ns() // 1_000_000, 10)


def test_a_moved_and_a_frozen_clock_are_not_set_back_either() -> None:
    clock = Clock(clocks.Setting("real", 5 * HOUR, 0))
    before = clock.now()
    clock.wall = set_back()
    assert before <= clock.now() < before + 10 * SECOND
    clock.setting = clock.frozen()
    assert clock.now() == clock.setting.frozen_at >= before


# ---- a running server ----------------------------------------------------------------------------------------------


def test_a_running_server_goes_on_when_its_machine_is_set_back(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "crofter.engine")
    client, gone = hurried(cloud).client("the-token-of-the-first-user"), expired(cloud)
    number, before = create(client), now(cloud)
    monkeypatch.setattr(cloud.runtime.clock, "wall", set_back())
    until(lambda: running(client, number))
    other = create(client)
    until(lambda: running(client, other))
    assert before <= now(cloud) < before + HOUR / 2
    assert gone.get("/v4/tags").status_code == 401
    assert min(durations(client)) >= 0
    assert 3500 < behind(cloud) < 3700
    until(lambda: "clock is 3" in caplog.text and "behind" in caplog.text)
    monkeypatch.undo()
    assert before <= now(cloud) < before + HOUR / 2
    assert behind(cloud) == 0


def test_after_a_restart_on_a_machine_that_was_set_back_time_goes_on_from_the_mark(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened()
    gone, number, before = expired(first), create(first.admin), now(first)
    token = gone.headers["authorization"].removeprefix("Bearer ")
    first.close()
    monkeypatch.setattr(clocks, "read_wall", set_back())
    second = opened()
    assert before <= now(second) < before + HOUR / 2
    assert second.client(token).get("/v4/tags").status_code == 401
    until(lambda: running(second.admin, number))
    assert min(durations(second.admin)) >= 0
    assert behind(second) > 3500
    at_end = now(second)
    second.close()
    third = opened()
    assert at_end <= now(third) < before + HOUR / 2


def test_the_mark_is_not_older_than_a_few_seconds_so_a_killed_process_has_told_nothing_later(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened()
    monkeypatch.setattr(timekeeping, "keep_mark", lambda *_args, **_options: None)  # simulates a kill
    until(lambda: now(first) > 0)
    time.sleep(1.5)
    last = first.runtime.clock.now()
    first.close()
    monkeypatch.undo()
    monkeypatch.setattr(timekeeping, "_UNMARKED", 40 * SECOND)  # allows for delays on a busy machine
    monkeypatch.setattr(clocks, "read_wall", set_back())
    second = opened()
    assert last <= second.runtime.clock.now() < last + 60 * SECOND


def test_a_reset_puts_the_mark_back_with_the_rest(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = opened()
    if cloud.runtime.database.dialect == "postgresql":
        pytest.skip("there the database's own clock counts, and it was not set back")
    monkeypatch.setattr(cloud.runtime.clock, "wall", set_back())
    assert behind(cloud) > 3500
    cloud.reset()
    assert behind(cloud) == 0
    assert abs(now(cloud) - (time.time_ns() // 1_000_000 - HOUR)) < 60 * SECOND


# ---- several processes ---------------------------------------------------------------------------------------------


@pytest.fixture
def pair(postgres_address: str) -> Iterator[tuple[Cloud, Cloud]]:
    first, second = (Cloud(postgres_address, secret_key="0" * 64) for _ in range(2))
    yield first, second
    first.close()
    second.close()


def close_to(moment: int, other: int) -> bool:
    return abs(moment - other) < 10 * SECOND


@pytest.mark.parametrize("difference", [HOUR, -HOUR], ids=["behind", "ahead"])
def test_processes_whose_machines_disagree_tell_the_time_of_their_database(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch, difference: int
) -> None:
    first = Cloud(postgres_address, secret_key="0" * 64)
    monkeypatch.setattr(clocks, "read_wall", set_back(difference))
    second = Cloud(postgres_address, secret_key="0" * 64)
    try:
        gone = expired(first).headers["authorization"].removeprefix("Bearer ")
        # The lag is at most the duration of the database's reply.
        until(lambda: second.client(gone).get("/v4/tags").status_code == 401)
        assert close_to(now(first), now(second))
        number = create(second.admin)
        until(lambda: running(first.admin, number))
        assert min(durations(second.admin)) >= 0
        assert (behind(first), behind(second) > 3500) == (0, difference > 0)
        monkeypatch.setattr(second.runtime.clock, "wall", time.time_ns)  # correct again
        assert close_to(now(first), now(second))
    finally:
        first.close()
        second.close()


def test_a_mark_that_was_read_before_time_was_put_back_is_not_taken_over_into_the_new_era(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Suspend a thread that has read the mark before it raises the clock, while another begins the era."""
    clock = Clock()
    clock.begin_era(1, 0)
    ahead = clock.machine() + HOUR
    begun = threading.Event()
    other = threading.Thread(target=lambda: (clock.begin_era(2, 0), begun.set()))
    right = Clock.raise_to

    def stands_still(self: Clock, moment: int) -> None:
        if self is clock:  # clouds of other tests have clocks, too
            other.start()
            begun.wait(0.2)
        right(self, moment)

    monkeypatch.setattr(Clock, "raise_to", stands_still)
    clock.join(1, ahead)
    other.join()
    assert clock.era == 2
    assert clock.machine() < ahead


def test_when_the_databases_clock_is_set_back_all_go_on_from_the_mark(pair: tuple[Cloud, Cloud]) -> None:
    first, second = pair
    before = now(first)
    ahead = clocks.machine_now() + HOUR  # a value that the database showed until a moment ago
    first.runtime.clock.raise_to(ahead)
    timekeeping.keep_mark(first.runtime)
    until(lambda: now(second) >= before + HOUR - SECOND)
    number = create(second.admin)
    until(lambda: running(first.admin, number))
    assert close_to(now(first), now(second))
    assert min(durations(first.admin)) >= 0
    assert min(behind(first), behind(second)) > 3500
    first.reset()
    until(lambda: behind(second) == 0)
    assert behind(first) == 0
    assert close_to(now(first), now(second))


def test_a_lease_is_judged_by_how_long_it_stands_not_by_the_time_of_day(postgres_database: PostgresDatabase) -> None:
    """Its time of day may have been written before the clock was set back, or read after it was set forward."""
    heartbeat = Heartbeat(make_runtime(postgres_database), Metrics(), lease=0.5)
    heartbeat.sign_in()
    with postgres_database.connect() as connection:
        for number in (1, 2):
            connection.execute("SELECT pg_advisory_lock(%s, %s)", (WORKERS, number))
        with postgres_database.write() as db:
            db.insert(worker, id=1, host="dead", pid=1, lease=clocks.machine_now() + HOUR)
            db.insert(worker, id=2, host="alive", pid=2, lease=0)
        for lease in itertools.count(1):
            with postgres_database.write() as db:
                db.update(worker, {"id": 2}, lease=lease)
                listed = {number for (number,) in db.raw("SELECT id FROM worker").fetchall()}
            assert 2 in listed
            if 1 not in listed:
                break
            heartbeat.reap()
    heartbeat.sign_out()
