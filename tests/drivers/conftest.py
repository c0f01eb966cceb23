"""Drivers under test, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.drivers.harness", "tests.drivers.checks", "tests.drivers.payments_contract")

from crofter.db import Database, open_database  # noqa: E402 - what is imported first would not be rewritten
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor  # noqa: E402
from tests.databases import PostgresServer  # noqa: E402
from tests.drivers.harness import DriverCase  # noqa: E402
from tests.drivers.lives import create_store  # noqa: E402
from tests.drivers.simulated_harness import SimulatedHarness  # noqa: E402

if TYPE_CHECKING:
    from tests.drivers.fake_libvirt.harness import FakeHarness


@pytest.fixture(scope="module")
def sqlite_store() -> Iterator[Database]:
    opened = open_database(None, None)
    create_store(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def postgres_store(postgres_server: PostgresServer) -> Iterator[Database]:
    name = postgres_server.create()
    opened = open_database(postgres_server.address(name), None)
    yield opened
    opened.close()
    postgres_server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def harness(request: pytest.FixtureRequest) -> SimulatedHarness:
    """An empty world on each database. One database per module: a harness empties it, which is quicker."""
    return SimulatedHarness(request.getfixturevalue("sqlite_store" if request.param == "sqlite" else "postgres_store"))


@pytest.fixture
def case(harness: SimulatedHarness) -> DriverCase:
    return DriverCase(harness)


@pytest.fixture
def simulated(harness: SimulatedHarness) -> SimulatedHypervisor:
    return harness.start()


@pytest.fixture
def fake_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHarness]:
    """The libvirt driver, on hosts in memory."""
    from tests.drivers.fake_libvirt.harness import FakeHarness

    opened = open_database(None, None)
    create_store(opened)
    harness = FakeHarness(opened, tmp_path, monkeypatch)
    yield harness
    harness.close()
    opened.close()


@pytest.fixture
def fake_case(fake_harness: FakeHarness) -> DriverCase:
    return DriverCase(fake_harness)
