"""The contract of payment gateways, checked for the simulated one on both databases."""

from __future__ import annotations

import pytest

from crofter.db import Database
from crofter.drivers.payments import Card, SimulatedGateway
from tests.drivers.payments_contract import CHECKS
from tests.drivers.payments_defects import DEFECTS
from tests.drivers.payments_harness import SimulatedBank

GOOD = "4111111111111111"


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.both
def test_the_simulated_gateway(database: Database, check: str) -> None:
    CHECKS[check](SimulatedBank(database))


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_suite_catches_a_gateway_that(sqlite_database: Database, defect: str) -> None:
    driver, check = DEFECTS[defect]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        CHECKS[check](SimulatedBank(sqlite_database, driver))
    CHECKS[check](SimulatedBank(sqlite_database))


# simulated gateway only


@pytest.mark.parametrize(
    ("number", "brand"),
    [
        ("4111111111111111", "Visa"),
        ("5555555555554444", "MasterCard"),
        ("2223003122003222", "MasterCard"),
        ("378282246310005", "American Express"),
        ("6011111111111117", "Discover"),
        ("6500000000000002", "Discover"),
        ("3530111333300000", "JCB"),
        ("30569309025904", "Unknown"),
    ],
)
def test_the_first_digits_tell_who_issued_a_card(sqlite_database: Database, number: str, brand: str) -> None:
    assert SimulatedGateway(sqlite_database).keep(Card(number, "123", 7, 2031), "key").card_type == brand


def test_a_card_is_not_shown_in_a_traceback() -> None:
    assert GOOD not in repr(Card(GOOD, "123", 7, 2031))


@pytest.mark.both
def test_the_next_charges_of_a_customer_can_be_told_to_fail(database: Database) -> None:
    gateway = SimulatedGateway(database)
    card = gateway.keep(Card(GOOD, "123", 12, 2099), "card").token
    gateway.decline_next("carol", 2)
    assert gateway.charge("other", "dave", card, 500).paid
    assert [gateway.charge(f"key-{number}", "carol", card, 500).paid for number in range(3)] == [False, False, True]
    gateway.decline_next("carol", 5)
    gateway.clear_faults()
    assert gateway.charge("key-9", "carol", card, 500).paid
