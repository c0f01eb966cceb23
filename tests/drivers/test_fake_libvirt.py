"""The libvirt driver keeps the contract, on hosts in memory. What only real ones can show is in test_libvirt.py."""

from __future__ import annotations

import pytest

from tests.drivers.contract import CHECKS
from tests.drivers.fake_libvirt.harness import FakeHarness
from tests.drivers.harness import DriverCase

LOOK_IN_BETWEEN = (
    "a_deletion_in_the_middle_of_a_move_leaves_nothing_anywhere",
    "a_disk_is_being_made_until_it_is_ready",
    "a_disk_is_in_use_from_the_moment_its_machine_boots",
    "a_firewall_may_change_while_its_machine_is_worked_on",
    "a_firewall_may_change_while_its_machine_moves",
    "a_half_made_disk_is_listed_too",
    "a_machine_moves_with_all_its_disks",
    "a_machine_does_not_boot_from_a_disk_that_is_worked_on",
    "a_move_that_is_given_up_leaves_machine_and_disks_together",
    "work_on_what_the_same_operation_is_still_making_waits_for_it",
)
"""Checks that look at work half way. Here it would be over at once, so it is held until they wait for it."""


NOT_HERE = "_console"
"""Hosts in memory have no streams of serial consoles; these checks are for real ones, and for the simulated driver."""


@pytest.mark.parametrize("check", [check for check in CHECKS if NOT_HERE not in check])
def test_the_libvirt_driver_keeps_the_contract(fake_case: DriverCase, fake_harness: FakeHarness, check: str) -> None:
    if check in LOOK_IN_BETWEEN:
        fake_harness.hold_jobs()
    CHECKS[check](fake_case)
