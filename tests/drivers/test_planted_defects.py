"""The conformance suite is proven on drivers with planted defects: it catches every one."""

from __future__ import annotations

import pytest

from crofter.db import Database
from crofter.drivers.hypervisor import Stale, Unreachable
from tests.drivers.contract import CHECKS
from tests.drivers.defects import DEFECTS, RACING
from tests.drivers.harness import DriverCase
from tests.drivers.simulated_harness import SimulatedHarness

CAUGHT = (AssertionError, pytest.fail.Exception)
"""Exceptions of a check that detected a defect; other errors would be luck."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_suite_catches_a_driver_that(sqlite_store: Database, defect: str) -> None:
    driver, check = DEFECTS[defect]
    with pytest.raises(CAUGHT):
        CHECKS[check](DriverCase(SimulatedHarness(sqlite_store, driver)))
    CHECKS[check](DriverCase(SimulatedHarness(sqlite_store)))


def test_the_suite_catches_a_driver_that_does_not_lock(postgres_store: Database) -> None:
    def caught() -> bool:
        case = DriverCase(SimulatedHarness(postgres_store, RACING))
        try:
            CHECKS["each_verb_ordered_by_two_threads_at_once_is_done_once: running"](case)
        except (*CAUGHT, Stale, Unreachable):  # of two identical orders one may be refused
            return True
        return False

    assert any(caught() for _ in range(5))  # two threads need not meet each time that they could
