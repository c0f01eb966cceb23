"""The conformance suite is proven on drivers with planted defects: it catches every one."""

from __future__ import annotations

import pytest

from crofter.db import Database
from crofter.drivers.hypervisor import DriverError
from tests.drivers.bench import Yard
from tests.drivers.contract import CHECKS
from tests.drivers.defects import DEFECTS, RACING
from tests.drivers.simulated_bench import SimulatedBench

CAUGHT = (AssertionError, pytest.fail.Exception)
"""What a check says when it has seen something wrong; any other error would be luck."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_suite_catches_a_driver_that(sqlite_store: Database, defect: str) -> None:
    driver, check = DEFECTS[defect]
    with pytest.raises(CAUGHT):
        CHECKS[check](Yard(SimulatedBench(sqlite_store, driver)))
    CHECKS[check](Yard(SimulatedBench(sqlite_store)))


def test_the_suite_catches_a_driver_that_does_not_lock(postgres_store: Database) -> None:
    def caught() -> bool:
        yard = Yard(SimulatedBench(postgres_store, RACING))
        try:
            CHECKS["each_verb_ordered_by_two_threads_at_once_is_done_once: running"](yard)
        except (*CAUGHT, DriverError):  # whoever was refused, though both ordered the same, has lost the race
            return True
        return False

    assert any(caught() for _ in range(5))  # two threads need not meet each time that they could
