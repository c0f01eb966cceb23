"""Every driver passes every check of the contract, on both databases."""

from __future__ import annotations

import pytest

from tests.drivers.contract import CHECKS
from tests.drivers.harness import DriverCase


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.both
def test_the_simulated_hypervisor_keeps_the_contract(case: DriverCase, check: str) -> None:
    CHECKS[check](case)
