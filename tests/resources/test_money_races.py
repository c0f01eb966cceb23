"""Races for money and instances: a single request wins, and the others get a reason."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.resources.billing.payments import UNDER_WAY
from crofter.resources.transfers.rules import NOT_PENDING
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.money import CARD, books_are_in_order, done, instance, payers, rows, stand_at

ROUNDS = [pytest.param(3, id="few"), pytest.param(60, id="many", marks=pytest.mark.soak)]
ACROSS = 4
TRANSFERS = "/v4/account/service-transfers"

Outcome = tuple[int, list[str]]
YES: Outcome = (200, [])
NOT_THERE: Outcome = (404, ["Not found"])
TOO_LATE: Outcome = (400, [NOT_PENDING])


def outcome(answer: Response) -> Outcome:
    """How a call was answered, and why not if it was refused."""
    return answer.status_code, [] if answer.status_code == 200 else [reason for _, reason in errors(answer)]


def each(clients: list[Client], url: str, **more: Any) -> list[Response]:
    """Send the same request from all clients at the same moment."""
    return at_once(*(partial(client.post, url, **more) for client in clients))


def accepting(client: Client, token: str) -> partial[Response]:
    return partial(client.post, f"{TRANSFERS}/{token}/accept")


def offered(client: Client) -> tuple[int, str]:
    number = instance(client)
    return number, str(done(client.post(TRANSFERS, json={"entities": {"computes": [number]}}))["token"])


def status(client: Client, token: str) -> str:
    return str(done(client.get(f"{TRANSFERS}/{token}"))["status"])


def events(client: Client, token: str) -> list[str]:
    """Return the events of a transfer, oldest first."""
    wanted = {"X-Filter": f'{{"entity.type": "entity_transfer", "entity.id": "{token}"}}'}
    newest_first = client.get("/v4/account/events", headers=wanted).json()["data"]
    return [event["action"].removeprefix("entity_transfer_") for event in reversed(newest_first)]


def has(client: Client, number: int) -> bool:
    answer = client.get(f"/v4/compute/instances/{number}")
    assert outcome(answer) in (YES, NOT_THERE)
    return answer.status_code == 200


def people(cloud: Cloud, username: str, count: int = ACROSS, **options: Any) -> list[Client]:
    """Several clients of one user: each its own connection."""
    cloud.account(username=username, **options)
    return [cloud.client(cloud.token(username)) for _ in range(count)]


def leave(clients: list[Client]) -> None:
    """A peer has so many connections and no more."""
    for client in clients:
        client.close()


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_transfer_is_accepted_once(cloud: Cloud, rounds: int) -> None:
    sender = cloud.person(username="alice")
    receivers = [cloud.person(username=f"receiver-{number}") for number in range(ACROSS)]
    for _ in range(rounds):
        cloud.freeze()
        number, token = offered(sender)
        answers = [outcome(answer) for answer in at_once(*(accepting(receiver, token) for receiver in receivers))]
        assert sorted(answers) == [YES, *[NOT_THERE] * (ACROSS - 1)]
        winner = answers.index(YES)
        cloud.settle()
        assert status(sender, token) == status(receivers[winner], token) == "completed"
        assert [has(receiver, number) for receiver in receivers] == [at == winner for at in range(ACROSS)]
        assert not has(sender, number)
        assert payers(cloud, number) == [f"receiver-{winner}"]
        assert events(sender, token) == ["create", "accept"]
        assert [events(receiver, token) for receiver in receivers] == [
            ["accept"] if at == winner else [] for at in range(ACROSS)
        ]
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_receiver_who_accepts_twice_gets_it_once(cloud: Cloud, rounds: int) -> None:
    sender = cloud.person(username="alice")
    receiver = people(cloud, "bob-receives")
    for count in range(1, rounds + 1):
        cloud.freeze()
        number, token = offered(sender)
        answers = at_once(*(accepting(person, token) for person in receiver))
        assert sorted(map(outcome, answers)) == [YES, *[TOO_LATE] * (ACROSS - 1)]
        cloud.settle()
        assert receiver[0].get("/v4/compute/instances").json()["results"] == count
        assert payers(cloud, number) == ["bob-receives"]
        assert events(receiver[0], token) == ["accept"]
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_transfer_is_accepted_or_cancelled(cloud: Cloud, rounds: int) -> None:
    sender, receiver = cloud.person(username="alice"), cloud.person(username="bob-receives")
    for _ in range(rounds):
        cloud.freeze()
        number, token = offered(sender)
        both = at_once(accepting(receiver, token), partial(sender.delete, f"{TRANSFERS}/{token}"))
        accepted, cancelled = map(outcome, both)
        cloud.settle()
        if accepted == YES:
            assert cancelled == TOO_LATE
            assert status(sender, token) == status(receiver, token) == "completed"
            assert (events(sender, token), events(receiver, token)) == (["create", "accept"], ["accept"])
            assert (has(sender, number), has(receiver, number)) == (False, True)
            assert payers(cloud, number) == ["bob-receives"]
        else:
            assert (accepted, cancelled) == (NOT_THERE, YES)
            assert status(sender, token) == "cancelled"
            assert outcome(receiver.get(f"{TRANSFERS}/{token}")) == NOT_THERE
            assert (events(sender, token), events(receiver, token)) == (["create", "cancel"], [])
            assert (has(sender, number), has(receiver, number)) == (True, False)
            assert payers(cloud, number) == ["alice"]
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_who_send_to_each_other_do_not_wait_for_each_other(cloud: Cloud, rounds: int) -> None:
    first, other = cloud.person(username="alice"), cloud.person(username="bob-receives")
    for _ in range(rounds):
        cloud.freeze()
        (hers, here), (his, there) = offered(first), offered(other)
        assert list(map(outcome, at_once(accepting(first, there), accepting(other, here)))) == [YES, YES]
        cloud.settle()
        assert (status(first, here), status(first, there)) == ("completed", "completed")
        assert (payers(cloud, hers), payers(cloud, his)) == (["bob-receives"], ["alice"])
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_same_payment_is_taken_once(cloud: Cloud, rounds: int) -> None:
    token = cloud.account(username="alice")["token"]
    clients = [cloud.client(token) for _ in range(ACROSS)]
    for number in range(1, rounds + 1):
        headers = {"Idempotency-Key": f"round {number}"}
        answers = each(clients, "/v4/account/payments", json={"usd": "5.00"}, headers=headers)
        assert [outcome(answer) for answer in answers] == [YES] * ACROSS
        assert len({answer.content for answer in answers}) == 1
        assert clients[0].get("/v4/account").json()["balance"] == -5 * number
        assert clients[0].get("/v4/account/payments").json()["results"] == number
        assert rows(cloud, "SELECT sum(cents) FROM simulated_charge WHERE paid = TRUE")[0][0] == 500 * number
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_an_account_is_cancelled_and_charged_once(cloud: Cloud, rounds: int) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        instance(owners[0])
        cloud.advance(7 * 3600)
        answers = sorted(map(outcome, each(owners, "/v4/account/cancel", json={})))
        assert answers[0] == YES
        # The others arrived during the winner's charge, or after the account was closed.
        assert all(answer in ((409, [UNDER_WAY]), (401, ["Invalid Token"])) for answer in answers[1:]), answers
        assert outcome(owners[0].get("/v4/account")) == (401, ["Invalid Token"])
        account = f"(SELECT account_id FROM account_user WHERE username = 'owner-{number}')"
        for book, column in (("invoice", "total"), ("payment", "amount"), ("charge", "amount")):
            amounts = rows(cloud, f"SELECT {column} FROM {book} WHERE account_id = {account}")
            assert [int(amount) for (amount,) in amounts] == [50_000], book
        owed = rows(cloud, f"SELECT sum(amount) FROM ledger WHERE book = 'owed' AND account_id = {account}")
        assert int(owed[0][0]) == 0
        leave(owners)
    cloud.settle()
    books_are_in_order(cloud)
    assert rows(cloud, "SELECT 1 FROM instance") == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_six_cards_are_six_cards(cloud: Cloud, rounds: int) -> None:
    body = {"type": "credit_card", "is_default": False, "data": CARD}
    full = (400, ["An account can have at most 6 payment methods."])
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        for _ in range(4):
            done(owners[0].post("/v4/account/payment-methods", json=body))
        answers = each(owners, "/v4/account/payment-methods", json=body)
        assert sorted(map(outcome, answers)) == [YES, *[full] * (ACROSS - 1)]
        assert owners[0].get("/v4/account/payment-methods").json()["results"] == 6
        leave(owners)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_promo_code_at_a_time(cloud: Cloud, rounds: int) -> None:
    taken = (400, ["A promotion is already active on this account."])
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        answers = each(owners, "/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"})
        assert sorted(map(outcome, answers)) == [YES, *[taken] * (ACROSS - 1)]
        (active,) = owners[0].get("/v4/account").json()["active_promotions"]
        assert active["credit_remaining"] == "100.00"
        leave(owners)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_an_instance_is_deleted_or_handed_over(cloud: Cloud, rounds: int) -> None:
    """Check that only one happens: the instance is gone for its owner and not received, or the reverse."""
    sender, receiver = cloud.person(username="alice"), cloud.person(username="bob-receives")
    for _ in range(rounds):
        cloud.freeze()
        number, token = offered(sender)
        both = at_once(accepting(receiver, token), partial(sender.delete, f"/v4/compute/instances/{number}"))
        accepted, deleted = map(outcome, both)
        assert deleted == YES
        cloud.settle()
        assert (has(sender, number), has(receiver, number)) == (False, False)
        if accepted == YES:
            assert status(sender, token) == status(receiver, token) == "failed"
            assert (events(sender, token), events(receiver, token)) == (
                ["create", "accept", "fail"],
                ["accept", "fail"],
            )
        else:
            assert accepted == (400, [f"Compute {number} is being deleted"])
            assert status(sender, token) == "pending"  # and stale after its day
            assert (events(sender, token), events(receiver, token)) == (["create"], [])
        assert payers(cloud, number) == []
        everyone = rows(cloud, f"SELECT DISTINCT account_id FROM meter WHERE object_id = {number}")
        assert everyone == rows(cloud, "SELECT account_id FROM account_user WHERE username = 'alice'")
    books_are_in_order(cloud)
