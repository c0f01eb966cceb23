"""Drivers under test, on both databases."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.drivers.bench", "tests.drivers.checks")

from crofter.db import Database  # noqa: E402 - what is imported before it is registered is not rewritten
from tests.drivers.bench import Yard  # noqa: E402
from tests.drivers.simulated_bench import SimulatedBench  # noqa: E402


@pytest.fixture
def bench(database: Database) -> SimulatedBench:
    return SimulatedBench(database)


@pytest.fixture
def yard(bench: SimulatedBench) -> Yard:
    return Yard(bench)
