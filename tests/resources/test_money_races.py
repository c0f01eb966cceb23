"""Races for money and instances: whoever comes at the same moment, there is one winner."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.money import books_are_in_order, done, instance, rows, stand_at

ROUNDS = [pytest.param(3, id="few"), pytest.param(60, id="many", marks=pytest.mark.soak)]
ACROSS = 4


Call = tuple[Client, str, str]


def at_once(*calls: Call, **more: Any) -> list[int]:
    """The statuses of calls that are made at the same moment."""
    gate = threading.Barrier(len(calls))

    def go(call: Call) -> int:
        client, method, url = call
        gate.wait()
        return int(client.request(method, url, **more).status_code)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(go, calls))


def all_at_once(clients: list[Client], method: str, url: str, **more: Any) -> list[int]:
    return at_once(*((client, method, url) for client in clients), **more)


def offered(client: Client) -> str:
    body = {"entities": {"computes": [instance(client)]}}
    return str(done(client.post("/v4/account/service-transfers", json=body))["token"])


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
        token = offered(sender)
        statuses = all_at_once(receivers, "POST", f"/v4/account/service-transfers/{token}/accept")
        assert sorted(statuses)[0] == 200
        assert sorted(statuses)[1:] == [404] * (ACROSS - 1)
        cloud.settle()
        held = [one.get("/v4/compute/instances").json()["results"] for one in receivers]
        winner = receivers[statuses.index(200)]
        assert done(winner.get(f"/v4/account/service-transfers/{token}"))["status"] == "completed"
        wanted = {"X-Filter": '{"action": "entity_transfer_accept"}'}
        assert sender.get("/v4/account/events", headers=wanted).json()["results"] == sum(held)
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_receiver_who_accepts_twice_gets_it_once(cloud: Cloud, rounds: int) -> None:
    sender = cloud.person(username="alice")
    receiver = people(cloud, "bob-receives")
    for count in range(1, rounds + 1):
        cloud.freeze()
        token = offered(sender)
        statuses = all_at_once(receiver, "POST", f"/v4/account/service-transfers/{token}/accept")
        assert sorted(statuses) == [200] + [400] * (ACROSS - 1)
        cloud.settle()
        assert receiver[0].get("/v4/compute/instances").json()["results"] == count


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_transfer_is_accepted_or_cancelled(cloud: Cloud, rounds: int) -> None:
    sender, receiver = people(cloud, "alice", 2), people(cloud, "bob-receives", 2)
    for _ in range(rounds):
        cloud.freeze()
        token = offered(sender[0])
        url = f"/v4/account/service-transfers/{token}"
        accepted, cancelled = at_once((receiver[0], "POST", f"{url}/accept"), (sender[0], "DELETE", url))
        assert (accepted == 200) != (cancelled == 200)
        cloud.settle()
        status = done(sender[0].get(url))["status"]
        assert status == ("completed" if accepted == 200 else "cancelled")
        actions = [one["action"] for one in sender[0].get("/v4/account/events").json()["data"]]
        wrong = "entity_transfer_cancel" if accepted == 200 else "entity_transfer_accept"
        assert actions[0] != wrong


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_who_send_to_each_other_do_not_wait_for_each_other(cloud: Cloud, rounds: int) -> None:
    one, other = cloud.person(username="alice"), cloud.person(username="bob-receives")
    for _ in range(rounds):
        cloud.freeze()
        here, there = offered(one), offered(other)
        statuses = at_once(
            (one, "POST", f"/v4/account/service-transfers/{there}/accept"),
            (other, "POST", f"/v4/account/service-transfers/{here}/accept"),
        )
        assert statuses == [200, 200]
        cloud.settle()
        assert done(one.get(f"/v4/account/service-transfers/{here}"))["status"] == "completed"
        assert done(one.get(f"/v4/account/service-transfers/{there}"))["status"] == "completed"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_same_payment_is_taken_once(cloud: Cloud, rounds: int) -> None:
    payers = people(cloud, "alice")
    for number in range(rounds):
        headers = {"Idempotency-Key": f"round {number}"}
        statuses = all_at_once(payers, "POST", "/v4/account/payments", json={"usd": "5.00"}, headers=headers)
        assert statuses == [200] * ACROSS
        assert payers[0].get("/v4/account").json()["balance"] == -5 * (number + 1)
        assert payers[0].get("/v4/account/payments").json()["results"] == number + 1
    books_are_in_order(cloud)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_an_account_is_cancelled_and_charged_once(cloud: Cloud, rounds: int) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # so that no month ends on the way
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        instance(owners[0])
        cloud.advance(7 * 3600)
        statuses = all_at_once(owners, "POST", "/v4/account/cancel", json={})
        assert statuses.count(200) == 1
        assert set(statuses) <= {200, 401, 409}
        assert owners[0].get("/v4/account").status_code == 401
        account = f"(SELECT account_id FROM account_user WHERE username = 'owner-{number}')"
        assert [int(row[0]) for row in rows(cloud, f"SELECT amount FROM payment WHERE account_id = {account}")] == [
            50_000
        ]
        leave(owners)
    cloud.settle()
    books_are_in_order(cloud)
    assert rows(cloud, "SELECT 1 FROM instance") == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_six_cards_are_six_cards(cloud: Cloud, rounds: int) -> None:
    body = {
        "type": "credit_card",
        "is_default": False,
        "data": {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099},
    }
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        for _ in range(4):
            done(owners[0].post("/v4/account/payment-methods", json=body))
        statuses = all_at_once(owners, "POST", "/v4/account/payment-methods", json=body)
        assert sorted(statuses) == [200, 400, 400, 400]
        assert owners[0].get("/v4/account/payment-methods").json()["results"] == 6
        leave(owners)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_promo_code_at_a_time(cloud: Cloud, rounds: int) -> None:
    for number in range(rounds):
        owners = people(cloud, f"owner-{number}")
        statuses = all_at_once(owners, "POST", "/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"})
        assert sorted(statuses) == [200, 400, 400, 400]
        leave(owners)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_an_instance_is_deleted_or_handed_over(cloud: Cloud, rounds: int) -> None:
    sender, receiver = people(cloud, "alice", 2), cloud.person(username="bob-receives")
    for _ in range(rounds):
        cloud.freeze()
        number = instance(sender[0])
        body = {"entities": {"computes": [number]}}
        token = done(sender[0].post("/v4/account/service-transfers", json=body))["token"]
        at_once(
            (receiver, "POST", f"/v4/account/service-transfers/{token}/accept"),
            (sender[0], "DELETE", f"/v4/compute/instances/{number}"),
        )
        cloud.settle()
        assert receiver.get(f"/v4/compute/instances/{number}").status_code == 404
        assert sender[0].get(f"/v4/compute/instances/{number}").status_code == 404
        assert rows(cloud, f"SELECT 1 FROM meter WHERE object_id = {number} AND ended IS NULL") == []
