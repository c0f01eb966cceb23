"""A machine whose clock jumps forward by more than a day: production stops service time until an operator decides."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crofter import clock as clocks
from crofter import readiness
from crofter.clock import DAY, HOUR, SECOND
from crofter.engine import timekeeping
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.engine.test_clock_set_back import until
from tests.resources.money import instance, invoices, rows
from tests.served import run_here

PRODUCTION: dict[str, Any] = {
    "mode": "production",
    "secret_key": "5" * 64,
    "base_url": "https://cloud.example",
    "payment_gateway": "none",
}
MONTHS = 400 * DAY
STANDING = "service time stands still"


class Machine:
    """The clock of the machine, and on PostgreSQL that of the database server, as somebody may set it."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._ahead = 0
        if address is not None:
            self._make_database_clock()

    def _make_database_clock(self) -> None:
        """Let the server's sessions find a clock of ours before the built-in one."""
        self._run("CREATE SCHEMA machine")
        self._run("CREATE TABLE machine.clock AS SELECT 0::bigint AS ahead")
        self._run(
            "CREATE FUNCTION machine.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT"
            " pg_catalog.clock_timestamp() + ahead * interval ''1 millisecond'' FROM machine.clock'"
        )
        self._run(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, machine, pg_catalog',"
            " current_database()); END $$"
        )

    def _run(self, statement: str) -> None:
        assert self._address is not None
        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(statement.encode())

    def read(self) -> int:
        return time.time_ns() + self._ahead * 1_000_000

    def set_forward(self, milliseconds: int) -> None:
        self._ahead = milliseconds
        if self._address is not None:
            self._run(f"UPDATE machine.clock SET ahead = {milliseconds}")


class Site:
    """A data folder or a database on a machine, servers on it, and commands beside them."""

    def __init__(self, where: dict[str, Any], machine: Machine) -> None:
        self.where = where
        self.machine = machine
        self.clouds: list[Cloud] = []

    def start(self, **settings: Any) -> Cloud:
        self.clouds.append(Cloud(**{**self.where, **PRODUCTION, **settings}))
        return self.clouds[-1]

    def stop(self) -> None:
        for cloud in self.clouds:
            cloud.close()
        self.clouds.clear()

    def admin(self, *words: str, code: int = 0) -> Any:
        env = {f"CROFTER_{name.upper()}": str(value) for name, value in {**PRODUCTION, **self.where}.items()}
        ended = run_here("admin", *words, "--json", env=env)
        assert ended.returncode == code, ended.stderr + ended.stdout
        return json.loads(ended.stdout) if ended.stdout else ended.stderr


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    where: dict[str, Any] = {"data": str(tmp_path)}
    address = None
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        address = server.address(server.empty())
        where["database"] = address
    machine = Machine(address)
    monkeypatch.setattr(clocks, "read_wall", machine.read)
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(timekeeping, "MARK_EVERY", 0.2)
    made = Site(where, machine)
    yield made
    made.stop()


def parts(cloud: Cloud) -> tuple[int, bool]:
    answer = cloud.sandbox.get("/health/ready")
    return answer.status_code, answer.json()["parts"]["clock"]


def ahead(cloud: Cloud) -> float:
    lines = cloud.sandbox.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("crofter_clock_ahead_seconds "))


def stands(cloud: Cloud) -> bool:
    return parts(cloud) == (503, False)


def runs(cloud: Cloud) -> bool:
    return parts(cloud) == (200, True)


def scheduled(cloud: Cloud) -> Any:
    """When everything scheduled is due next. It changes when anything falls due."""
    return rows(cloud, "SELECT name, next_due FROM schedule WHERE rule NOT LIKE 'every%' ORDER BY name")


def told(cloud: Cloud) -> int:
    return cloud.runtime.clock.now()


def looks_pass(cloud: Cloud, count: int = 3) -> None:
    """Let the queues and schedules be looked at several times."""
    seen: list[float] = []

    def another() -> bool:
        seen.append(told(cloud))
        time.sleep(0.5)
        return len(seen) > count * 2

    until(another)


def test_a_start_with_a_clock_that_is_ahead_bills_nothing(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    first = site.start()
    instance(first.admin)
    plan, before = scheduled(first), told(first)
    site.stop()
    site.machine.set_forward(MONTHS)
    second = site.start()
    until(lambda: STANDING in caplog.text)
    looks_pass(second)
    assert stands(second)
    assert ahead(second) == pytest.approx(MONTHS / SECOND, abs=600)
    assert before <= told(second) < before + HOUR
    assert (invoices(second.admin), scheduled(second)) == ([], plan)
    site.stop()
    site.machine.set_forward(0)
    third = site.start()
    until(lambda: runs(third))
    assert ahead(third) == 0
    assert before < told(third) < before + HOUR
    assert (invoices(third.admin), scheduled(third)) == ([], plan)


def test_a_running_server_stands_still_until_the_clock_is_right_again(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "crofter.engine")
    cloud = site.start()
    instance(cloud.admin)
    plan, before = scheduled(cloud), told(cloud)
    site.machine.set_forward(MONTHS)
    until(lambda: stands(cloud))
    looks_pass(cloud)
    assert before <= told(cloud) < before + HOUR
    at_standstill = told(cloud)
    assert told(cloud) == at_standstill
    assert cloud.admin.post("/v4/tags", json={"label": "served"}).status_code == 200
    site.machine.set_forward(0)
    until(lambda: runs(cloud))
    until(lambda: at_standstill < told(cloud) < before + HOUR)
    until(lambda: "service time runs again" in caplog.text)
    assert (invoices(cloud.admin), scheduled(cloud)) == ([], plan)


def test_an_accepted_clock_is_followed_and_what_fell_due_is_done(site: Site) -> None:
    cloud = site.start()
    instance(cloud.admin)
    before = told(cloud)
    site.machine.set_forward(MONTHS)
    until(lambda: stands(cloud))
    (shown,) = site.admin("clock", "show")
    assert (shown["state"], shown["ahead_seconds"] > 399 * 86400) == ("stands still", True)
    (finding,) = [row for row in site.admin("doctor", code=1) if row["check"] == "clock"]
    assert (finding["ok"], STANDING in finding["found"], "clock accept" in finding["do"]) == (False, True, True)
    (accepted,) = site.admin("clock", "accept")
    assert (accepted["state"], accepted["ahead_seconds"]) == ("runs", 0)
    assert accepted["accepted_seconds"] > 399 * 86400
    until(lambda: runs(cloud))
    assert told(cloud) > before + 399 * DAY
    until(lambda: len(invoices(cloud.admin)) >= 13)
    site.stop()
    again = site.start()
    assert runs(again)
    assert told(again) > before + 399 * DAY


def test_a_clock_may_be_accepted_while_no_server_runs(site: Site) -> None:
    site.start()
    site.stop()
    site.machine.set_forward(3 * DAY)
    assert site.admin("clock", "accept")[0]["state"] == "runs"
    assert runs(site.start())
    assert site.admin("clock", "accept")[0]["accepted_seconds"] == 0


def test_a_command_does_not_believe_such_a_clock_either(site: Site) -> None:
    site.start()
    site.stop()
    site.machine.set_forward(MONTHS)
    site.admin("tokens", "create", "admin", "--days", "1")
    site.machine.set_forward(0)
    cloud = site.start()
    (expiry,) = [row[0] for row in rows(cloud, "SELECT expiry FROM token WHERE expiry IS NOT NULL")]
    assert abs(clocks.parse(str(expiry)) - told(cloud) - DAY) < HOUR


def test_less_than_a_day_is_followed(site: Site) -> None:
    cloud = site.start()
    before = told(cloud)
    site.machine.set_forward(23 * HOUR)
    until(lambda: told(cloud) >= before + 23 * HOUR)
    assert runs(cloud)
    assert ahead(cloud) == 0


def test_a_sandbox_goes_on(site: Site) -> None:
    """A laptop that slept over a weekend."""
    settings: dict[str, Any] = {"mode": "sandbox", "base_url": None, "payment_gateway": None}
    cloud = site.start(**settings)
    before = told(cloud)
    site.machine.set_forward(3 * DAY)
    until(lambda: told(cloud) >= before + 3 * DAY)
    assert runs(cloud)
    site.stop()
    site.machine.set_forward(30 * DAY)
    assert told(site.start(**settings)) >= before + 30 * DAY


def test_processes_agree_about_a_jump_of_their_database(site: Site) -> None:
    if "database" not in site.where:
        return  # SQLite has one process
    api, worker = site.start(role="api"), site.start()
    instance(api.admin)
    before = told(api)
    site.machine.set_forward(MONTHS)
    for cloud in (api, worker):
        until(partial(stands, cloud))
    assert abs(told(api) - told(worker)) < 10 * SECOND
    late = site.start()
    assert stands(late)
    assert invoices(api.admin) == []
    site.admin("clock", "accept")
    for cloud in (api, worker, late):
        until(partial(runs, cloud))
        assert told(cloud) > before + 399 * DAY
    until(lambda: invoices(api.admin))


def test_a_machine_beside_a_database_that_is_right_goes_by_the_database(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "database" not in site.where:
        return  # SQLite has no clock of its own
    cloud = site.start()
    before = told(cloud)
    monkeypatch.setattr(cloud.runtime.clock, "wall", lambda: time.time_ns() + MONTHS * 1_000_000)
    until(lambda: told(cloud) > before + SECOND)
    assert told(cloud) < before + HOUR
    assert runs(cloud)


# ---- time that was told by mistake ----------------------------------------------------------------------------------


def mistaken(site: Site, milliseconds: int, *, use: bool = False) -> tuple[int, Any]:
    """Follow a clock that is ahead, do what falls due, and set the clock right; what was told and planned before."""
    cloud = site.start()
    before, plan = told(cloud), scheduled(cloud)
    if use:
        instance(cloud.admin)
        until(lambda: rows(cloud, "SELECT 1 FROM operation WHERE state IN ('queued', 'running', 'waiting')") == [])
    site.machine.set_forward(milliseconds)
    site.admin("clock", "accept")
    until(lambda: told(cloud) >= before + milliseconds)
    until(lambda: rows(cloud, f"SELECT 1 FROM schedule WHERE next_due < {told(cloud)}") == [])
    until(lambda: rows(cloud, "SELECT 1 FROM operation WHERE state IN ('queued', 'running', 'waiting')") == [])
    site.stop()
    site.machine.set_forward(0)
    return before, plan


def test_time_is_put_back_where_no_money_depends_on_it(site: Site) -> None:
    before, plan = mistaken(site, 40 * DAY)
    (put_back,) = site.admin("clock", "back")
    assert put_back["put_back_seconds"] == pytest.approx(40 * DAY / SECOND, abs=600)
    assert site.admin("clock", "show")[0]["behind_seconds"] == 0
    assert site.admin("clock", "back")[0]["put_back_seconds"] == 0
    assert site.admin("audit", "verify") == []
    cloud = site.start()
    assert before < told(cloud) < before + HOUR
    assert runs(cloud)
    assert scheduled(cloud) == plan
    instance(cloud.admin)
    site.machine.set_forward(40 * DAY)
    until(lambda: stands(cloud))
    site.admin("clock", "accept")
    until(lambda: invoices(cloud.admin))  # the month ends a second time, and is billed


def test_time_is_not_put_back_over_an_invoice(site: Site) -> None:
    before, _plan = mistaken(site, 40 * DAY, use=True)
    kept = {row["what"].partition(" after ")[0] for row in site.admin("clock", "back", code=1)}
    assert {"invoices", "entries in the books", "meters"} <= kept
    assert told(site.start()) >= before + 40 * DAY


def test_time_is_not_put_back_under_a_server(site: Site) -> None:
    site.start()
    refusal = site.admin("clock", "back", code=1)
    assert "stop them all first" in refusal or "another" in refusal, refusal


def test_time_is_not_put_back_before_the_first_account(site: Site) -> None:
    site.start()
    site.stop()
    site.machine.set_forward(-DAY)
    assert "before the first account was opened" in site.admin("clock", "back", code=1)
