"""What every payment gateway promises, held against the simulated one on both databases."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crofter.db import Database
from crofter.drivers.payments import Card, Gateway, SimulatedGateway

GOOD, BAD = "4111111111111111", "4000000000000002"


@pytest.fixture
def gateway(database: Database) -> Gateway:
    return SimulatedGateway(database)


def token(gateway: Gateway, number: str = GOOD) -> str:
    return gateway.keep(Card(number, "123", 12, 2099), f"key-{number}").token


def test_a_card_comes_back_as_a_token_without_its_number(gateway: Gateway) -> None:
    kept = gateway.keep(Card(GOOD, "123", 7, 2031), "key")
    assert (kept.card_type, kept.last_four, kept.expiry) == ("Visa", "1111", "07/2031")
    assert GOOD not in kept.token
    assert GOOD not in repr(Card(GOOD, "123", 7, 2031))


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
def test_the_first_digits_tell_who_issued_a_card(gateway: Gateway, number: str, brand: str) -> None:
    assert gateway.keep(Card(number, "123", 7, 2031), "key").card_type == brand


def test_the_same_key_is_the_same_charge(gateway: Gateway) -> None:
    card = token(gateway)
    assert [gateway.charge("key", "customer", card, 500).paid for _ in range(3)] == [True] * 3
    assert gateway.find("key") == gateway.charge("key", "customer", card, 900)
    assert gateway.find("other") is None


def test_a_card_that_is_declined_stays_declined_under_its_key(gateway: Gateway) -> None:
    refused = gateway.charge("key", "customer", token(gateway, BAD), 500)
    assert (refused.paid, refused.reason) == (False, "The card was declined.")
    assert gateway.charge("key", "customer", token(gateway), 500).paid is False


def test_what_was_called_off_never_arrives(gateway: Gateway) -> None:
    assert gateway.call_off("late").paid is False
    assert gateway.charge("late", "customer", token(gateway), 500).paid is False


def test_what_has_arrived_cannot_be_called_off(gateway: Gateway) -> None:
    assert gateway.charge("key", "customer", token(gateway), 500).paid
    assert gateway.call_off("key").paid is True
    assert gateway.find("key") == gateway.call_off("key")


def test_a_charge_that_is_asked_for_and_called_off_at_once_is_one_or_the_other(gateway: Gateway) -> None:
    card = token(gateway)
    for number in range(10):
        key, gate = f"key-{number}", threading.Barrier(4)

        def ask(call_off: bool, key: str = key, gate: threading.Barrier = gate) -> bool:
            gate.wait()
            outcome = gateway.call_off(key) if call_off else gateway.charge(key, "customer", card, 500)
            return outcome.paid

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(ask, (False, True, False, True)))) == 1


def test_the_next_charges_of_a_customer_can_be_told_to_fail(database: Database) -> None:
    gateway = SimulatedGateway(database)
    card = token(gateway)
    gateway.decline_next("carol", 2)
    assert gateway.charge("other", "dave", card, 500).paid
    assert [gateway.charge(f"key-{number}", "carol", card, 500).paid for number in range(3)] == [False, False, True]
    gateway.decline_next("carol", 5)
    gateway.mend()
    assert gateway.charge("key-9", "carol", card, 500).paid
