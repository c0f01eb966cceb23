"""Drivers under test, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.drivers.bench", "tests.drivers.checks", "tests.drivers.payments_contract")

from crofter.db import Database, open_database  # noqa: E402 - what is imported first would not be rewritten
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor  # noqa: E402
from tests.databases import PostgresServer  # noqa: E402
from tests.drivers.bench import Yard  # noqa: E402
from tests.drivers.lives import create_store  # noqa: E402
from tests.drivers.simulated_bench import SimulatedBench  # noqa: E402

if TYPE_CHECKING:
    from tests.drivers.fake_libvirt.bench import FakeBench


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
def bench(request: pytest.FixtureRequest) -> SimulatedBench:
    """An empty world on each database. One database per module: a bench empties it, which is quicker."""
    return SimulatedBench(request.getfixturevalue("sqlite_store" if request.param == "sqlite" else "postgres_store"))


@pytest.fixture
def yard(bench: SimulatedBench) -> Yard:
    return Yard(bench)


@pytest.fixture
def simulated(bench: SimulatedBench) -> SimulatedHypervisor:
    return bench.start()


@pytest.fixture
def fake_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBench]:
    """The libvirt driver, on hosts in memory."""
    from tests.drivers.fake_libvirt.bench import FakeBench

    opened = open_database(None, None)
    create_store(opened)
    bench = FakeBench(opened, tmp_path, monkeypatch)
    yield bench
    bench.close()
    opened.close()


@pytest.fixture
def fake_yard(fake_bench: FakeBench) -> Yard:
    return Yard(fake_bench)
