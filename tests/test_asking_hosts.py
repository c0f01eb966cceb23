"""Endpoints that query hosts during a request, and the time limit of their queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from httpx2 import Client

from crofter.drivers.hypervisor import Unreachable, Usage
from crofter.registry import ENDPOINTS
from crofter.resources.instances import store as instances
from crofter.resources.instances.usage import port
from tests.cloud import Cloud
from tests.matrix import Matrix
from tests.planner import Planner
from tests.resources.compute import deploy, refused


class Watched:
    """A driver that records its calls."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.asked: list[str] = []
        self.timeouts: list[float] = []
        self.silent = False

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self._driver, name)

    def history(self, *where: Any, timeout: float) -> tuple[Usage, ...]:
        self.asked.append("history")
        self.timeouts.append(timeout)
        if self.silent:
            raise Unreachable("nobody answers")
        points: tuple[Usage, ...] = self._driver.history(*where, timeout=timeout)
        return points


@pytest.fixture
def quiet() -> Iterator[Cloud]:
    """On which nothing happens by itself."""
    cloud = Cloud()
    cloud.freeze()
    yield cloud
    cloud.close()


def _watch(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched(cloud.runtime.hypervisor)
    monkeypatch.setattr(cloud.runtime, "hypervisor", watched)
    return watched


def _askers(matrix: Matrix, watched: Watched) -> set[str]:
    """The reads that ask the driver anything."""
    names = set()
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET":
            watched.asked.clear()
            matrix.ask("unrestricted", endpoint)
            if watched.asked:
                names.add(endpoint.name)
    return names


def test_no_read_asks_a_host_but_those_that_say_so(quiet: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = Matrix(quiet)
    quiet.advance(600)
    today = datetime.fromtimestamp(quiet.runtime.clock.now() / 1000, UTC)
    matrix.parts |= {"year": today.year, "month": today.month}
    declared = {endpoint.name for endpoint in ENDPOINTS if endpoint.asks_hosts}
    watched = _watch(quiet, monkeypatch)
    assert _askers(matrix, watched) == declared

    shown = instances.shown
    view = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "view_instance")
    monkeypatch.setattr(view.lookups["instance"], "find", lambda *parts: watched.hosts() and shown(*parts))
    assert _askers(matrix, watched) == {*declared, "view_instance"}  # an undeclared query is detected


def test_no_write_asks_a_host_in_the_request(quiet: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(quiet)
    watched = _watch(quiet, monkeypatch)
    for endpoint in ENDPOINTS:
        if endpoint.writes and not endpoint.public:
            planner.plan(endpoint)
    assert watched.asked == []


@pytest.mark.both
def test_a_caller_waits_for_a_limited_time(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    own = deploy(cloud, alice)
    cloud.advance(600)
    watched = _watch(cloud, monkeypatch)
    assert alice.get(f"/v4/compute/instances/{own}/stats").status_code == 200
    assert 0 < watched.timeouts[-1] <= port.LIMIT
    watched.silent = True
    refused(alice.get(f"/v4/compute/instances/{own}/stats"), "Stats are unavailable at this time.")
    asked = len(watched.timeouts)
    monkeypatch.setattr(port, "LIMIT", 0)
    refused(alice.get(f"/v4/compute/instances/{own}/stats"), "Stats are unavailable at this time.")
    assert len(watched.timeouts) == asked  # without remaining time no host is queried
