"""The conformance suite of payments: what any gateway's driver has to pass, check by check."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import pytest

from crofter.drivers.payments import Card, Gateway, InDoubt, Outcome
from tests.at_once import at_once
from tests.drivers.payments_harness import Bank

Check = Callable[[Bank], None]
_numbers = itertools.count(1)


def _fresh(what: str) -> str:
    """A name that the bank has not heard before."""
    return f"{what}-{next(_numbers)}"


def _token(gateway: Gateway, card: Card) -> str:
    return gateway.keep(card, _fresh("card")).token


# ---- cards ----------------------------------------------------------------------------------------------------------


def a_card_comes_back_as_a_token_that_does_not_tell_its_number(bank: Bank) -> None:
    kept = bank.connect().keep(bank.good, _fresh("card"))
    assert kept.last_four == bank.good.number[-4:]
    assert kept.expiry == f"{bank.good.expiry_month:02}/{bank.good.expiry_year}"
    for secret in (bank.good.number, bank.good.number[:-4], bank.good.number[::-1]):
        assert secret not in repr(kept)


def a_card_that_is_kept_twice_under_one_key_is_one_card(bank: Bank) -> None:
    key = _fresh("card")
    assert bank.connect().keep(bank.good, key) == bank.connect().keep(bank.good, key)


# ---- charges --------------------------------------------------------------------------------------------------------


def the_same_key_is_the_same_charge(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    token = _token(gateway, bank.good)
    assert [gateway.charge(key, customer, token, 500).paid for _ in range(3)] == [True] * 3
    assert bank.moved(customer) == [500]


def a_key_is_known_to_who_comes_later(bank: Bank) -> None:
    key, customer = _fresh("key"), _fresh("customer")
    token = _token(bank.connect(), bank.good)
    assert bank.connect().charge(key, customer, token, 500).paid
    assert bank.connect().charge(key, customer, token, 500).paid
    assert bank.moved(customer) == [500]


def the_same_key_with_another_amount_is_still_the_first_charge(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    token = _token(gateway, bank.good)
    assert gateway.charge(key, customer, token, 500) == gateway.charge(key, customer, token, 900)
    assert bank.moved(customer) == [500]


def other_keys_are_other_charges(bank: Bank) -> None:
    gateway, customer = bank.connect(), _fresh("customer")
    token = _token(gateway, bank.good)
    for cents in (500, 500, 700):
        assert gateway.charge(_fresh("key"), customer, token, cents).paid
    assert sorted(bank.moved(customer)) == [500, 500, 700]


def a_declined_card_moves_nothing_and_stays_declined_under_its_key(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    refused = gateway.charge(key, customer, _token(gateway, bank.bad), 500)
    assert not refused.paid
    assert refused.reason
    assert not gateway.charge(key, customer, _token(gateway, bank.good), 500).paid
    assert bank.moved(customer) == []


def ten_who_ask_for_one_charge_at_once_get_one(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    token = _token(gateway, bank.good)
    outcomes = at_once(*(lambda: gateway.charge(key, customer, token, 500) for _ in range(10)))
    assert [outcome.paid for outcome in outcomes] == [True] * 10
    assert bank.moved(customer) == [500]


# ---- payments that are staged ---------------------------------------------------------------------------------------


def _staged(gateway: Gateway, customer: str, cents: int = 500) -> str:
    addresses = ("https://example.com/back", "https://example.com/no")
    return gateway.stage(_fresh("stage"), customer, cents, *addresses).payment_id


def a_payment_is_staged_once_under_its_key_and_moves_nothing(bank: Bank) -> None:
    key, customer = _fresh("stage"), _fresh("customer")
    addresses = ("https://example.com/back", "https://example.com/no")
    first = bank.connect().stage(key, customer, 500, *addresses)
    assert first == bank.connect().stage(key, customer, 500, *addresses)
    assert first.payment_id != _staged(bank.connect(), customer)
    assert bank.moved(customer) == []


def a_lost_answer_to_staging_is_a_doubt(bank: Bank) -> None:
    gateway, customer = bank.connect(), _fresh("customer")
    with bank.losing("answer"), pytest.raises(InDoubt):
        _staged(gateway, customer)
    assert bank.moved(customer) == []


def a_staged_payment_is_executed_once_under_its_key(bank: Bank) -> None:
    key, customer = _fresh("key"), _fresh("customer")
    payment_id = _staged(bank.connect(), customer)
    assert [bank.connect().execute(key, customer, payment_id, bank.payer, 500).paid for _ in range(3)] == [True] * 3
    assert bank.moved(customer) == [500]
    outcome = bank.connect().find(key)
    assert outcome is not None
    assert outcome.paid


def a_staged_payment_is_executed_once_under_any_key(bank: Bank) -> None:
    gateway, customer = bank.connect(), _fresh("customer")
    payment_id = _staged(gateway, customer)
    assert gateway.execute(_fresh("key"), customer, payment_id, bank.payer, 500).paid
    assert not gateway.execute(_fresh("key"), customer, payment_id, bank.payer, 500).paid
    assert bank.moved(customer) == [500]


def ten_who_execute_one_payment_under_ten_keys_at_once_pay_once(bank: Bank) -> None:
    gateway, customer = bank.connect(), _fresh("customer")
    payment_id = _staged(gateway, customer)

    def execute() -> Outcome:
        return gateway.execute(_fresh("key"), customer, payment_id, bank.payer, 500)

    assert sum(outcome.paid for outcome in at_once(*[execute] * 10)) == 1
    assert bank.moved(customer) == [500]


def what_was_not_staged_like_this_is_not_executed(bank: Bank) -> None:
    gateway, customer, other = bank.connect(), _fresh("customer"), _fresh("customer")
    payment_id = _staged(gateway, customer)
    assert not gateway.execute(_fresh("key"), other, payment_id, bank.payer, 500).paid
    assert not gateway.execute(_fresh("key"), customer, payment_id, bank.payer, 900).paid
    assert not gateway.execute(_fresh("key"), customer, f"{payment_id}-not", bank.payer, 500).paid
    assert bank.moved(customer) == bank.moved(other) == []


def a_payer_who_is_unwilling_pays_nothing(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    payment_id = _staged(gateway, customer)
    refused = gateway.execute(key, customer, payment_id, bank.unwilling_payer, 500)
    assert not refused.paid
    assert refused.reason
    assert not gateway.execute(key, customer, payment_id, bank.payer, 500).paid
    assert bank.moved(customer) == []


def a_lost_answer_to_executing_is_a_doubt_and_is_looked_up(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    payment_id = _staged(gateway, customer)
    with bank.losing("answer"), pytest.raises(InDoubt):
        gateway.execute(key, customer, payment_id, bank.payer, 500)
    outcome = gateway.find(key)
    assert outcome is not None
    assert outcome.paid
    assert bank.moved(customer) == [500]


def what_was_called_off_is_never_executed(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    payment_id = _staged(gateway, customer)
    assert not gateway.call_off(key).paid
    assert not gateway.execute(key, customer, payment_id, bank.payer, 500).paid
    assert bank.moved(customer) == []


# ---- doubt ----------------------------------------------------------------------------------------------------------


def a_lost_answer_is_a_doubt_and_is_looked_up(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    token = _token(gateway, bank.good)
    with bank.losing("answer"), pytest.raises(InDoubt):
        gateway.charge(key, customer, token, 500)
    outcome = gateway.find(key)
    assert outcome is not None
    assert outcome.paid
    assert gateway.charge(key, customer, token, 500).paid
    assert bank.moved(customer) == [500]


def the_lost_answer_of_a_declined_charge_is_a_doubt_too(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    with bank.losing("answer"), pytest.raises(InDoubt):
        gateway.charge(key, customer, _token(gateway, bank.bad), 500)
    outcome = gateway.find(key)
    assert outcome is not None
    assert not outcome.paid


def a_lost_request_is_a_doubt_and_nothing_is_found(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    token = _token(gateway, bank.good)
    with bank.losing("request"), pytest.raises(InDoubt):
        gateway.charge(key, customer, token, 500)
    assert gateway.find(key) is None
    assert bank.moved(customer) == []
    assert gateway.charge(key, customer, token, 500).paid
    assert bank.moved(customer) == [500]


def who_cannot_look_does_not_guess(bank: Bank) -> None:
    gateway, key = bank.connect(), _fresh("key")
    with bank.losing("request"):
        with pytest.raises(InDoubt):
            gateway.find(key)
        with pytest.raises(InDoubt):
            gateway.call_off(key)
    assert gateway.find(key) is None


def what_became_of_a_charge_is_told_to_anybody(bank: Bank) -> None:
    gateway, customer = bank.connect(), _fresh("customer")
    good, bad = _fresh("key"), _fresh("key")
    gateway.charge(good, customer, _token(gateway, bank.good), 500)
    gateway.charge(bad, customer, _token(gateway, bank.bad), 500)
    later = bank.connect()
    assert [outcome is not None and outcome.paid for outcome in (later.find(good), later.find(bad))] == [True, False]


# ---- calling off ----------------------------------------------------------------------------------------------------


def what_was_called_off_never_arrives(bank: Bank) -> None:
    key, customer = _fresh("key"), _fresh("customer")
    token = _token(bank.connect(), bank.good)
    assert not bank.connect().call_off(key).paid
    assert not bank.connect().charge(key, customer, token, 500).paid
    assert bank.moved(customer) == []


def what_has_arrived_cannot_be_called_off(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    assert gateway.charge(key, customer, _token(gateway, bank.good), 500).paid
    assert gateway.call_off(key).paid
    assert gateway.find(key) == gateway.call_off(key)
    assert bank.moved(customer) == [500]


def a_lost_answer_to_calling_off_is_asked_for_again(bank: Bank) -> None:
    gateway, key, customer = bank.connect(), _fresh("key"), _fresh("customer")
    with bank.losing("answer"), pytest.raises(InDoubt):
        gateway.call_off(key)
    assert not gateway.call_off(key).paid
    assert not gateway.charge(key, customer, _token(gateway, bank.good), 500).paid
    assert bank.moved(customer) == []


def charged_and_called_off_at_once_is_one_or_the_other(bank: Bank) -> None:
    gateway = bank.connect()
    token = _token(gateway, bank.good)
    for _ in range(10):
        key, customer = _fresh("key"), _fresh("customer")

        def charge(key: str = key, customer: str = customer) -> Outcome:
            return gateway.charge(key, customer, token, 500)

        def call_off(key: str = key) -> Outcome:
            return gateway.call_off(key)

        paid = {outcome.paid for outcome in at_once(charge, call_off, charge, call_off)}
        assert len(paid) == 1
        assert bank.moved(customer) == ([500] if paid == {True} else [])


CHECKS: dict[str, Check] = {
    name: check
    for name, check in list(globals().items())
    if inspect.isfunction(check) and check.__module__ == __name__ and not name.startswith("_")
}
