"""Payments that their payer approves with PayPal, through HTTP."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.at_once import at_once
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.resources.money import books_are_in_order, done, rows

STAGE, EXECUTE = "/v4/account/payments/paypal", "/v4/account/payments/paypal/execute"
BODY = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
PAYER = "GX7Y2"


def staged(client: Client, **more: Any) -> str:
    return str(done(client.post(STAGE, json=BODY | more))["payment_id"])


def executed(client: Client, payment_id: str, **headers: str) -> Response:
    return client.post(EXECUTE, json={"payer_id": PAYER, "payment_id": payment_id}, headers=headers)


def balance(client: Client) -> float:
    return float(client.get("/v4/account").json()["balance"])


@pytest.mark.both
def test_a_payment_is_staged_and_executed(cloud: Cloud, alice: Client) -> None:
    answer = alice.post(STAGE, json=BODY)
    assert answer.status_code == 200
    assert list(answer.json()) == ["checkout_token", "payment_id"]
    assert (balance(alice), actions(alice)) == (0, [])
    done_ = executed(alice, answer.json()["payment_id"])
    assert (done_.status_code, done_.json()) == (200, {})
    for response in (answer, done_):
        assert response.headers["deprecation"] == "true"
        assert "POST /v4/account/payments" in response.headers["warning"]
    (payment,) = alice.get("/v4/account/payments").json()["data"]
    assert payment["usd"] == 20
    assert alice.get(f"/v4/account/payments/{payment['id']}").json() == payment
    assert balance(alice) == -20
    assert actions(alice) == ["payment_submitted"]
    books_are_in_order(cloud)


def test_a_payment_is_executed_once(cloud: Cloud, alice: Client) -> None:
    payment_id = staged(alice)
    assert executed(alice, payment_id).status_code == 200
    again = executed(alice, payment_id)
    assert (again.status_code, errors(again)) == (400, [("payment_id", "This payment was executed already.")])
    assert balance(alice) == -20
    books_are_in_order(cloud)


def test_two_payments_are_two(cloud: Cloud, alice: Client) -> None:
    for payment_id in (staged(alice), staged(alice, usd="$30.00")):
        assert executed(alice, payment_id).status_code == 200
    assert balance(alice) == -50
    books_are_in_order(cloud)


@pytest.mark.both
def test_whoever_executes_at_the_same_moment_one_payment_is_made(cloud: Cloud) -> None:
    cloud.account(username="alice")
    clients = [cloud.client(cloud.token("alice")) for _ in range(4)]
    for count in range(1, 4):
        payment_id = staged(clients[0])
        answers = at_once(*(partial(executed, client, payment_id) for client in clients))
        assert {answer.status_code for answer in answers} <= {200, 400}
        assert 200 in {answer.status_code for answer in answers}
        assert balance(clients[0]) == -20 * count
        assert actions(clients[0]).count("payment_submitted") == count
    books_are_in_order(cloud)


def test_a_key_is_answered_again(cloud: Cloud, alice: Client) -> None:
    payment_id = staged(alice)
    answers = [executed(alice, payment_id, **{"Idempotency-Key": "march"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[2].headers["idempotent-replayed"] == "true"
    assert balance(alice) == -20


def test_all_that_is_wrong_is_said(alice: Client) -> None:
    assert errors(alice.post(STAGE, json={})) == [
        ("cancel_url", "cancel_url is required"),
        ("redirect_url", "redirect_url is required"),
        ("usd", "usd is required"),
    ]
    wrong = {"cancel_url": "javascript:alert(1)", "redirect_url": 7, "usd": "20"}
    assert errors(alice.post(STAGE, json=wrong)) == [
        ("cancel_url", "Must be an http or https address"),
        ("redirect_url", "Must be of type String"),
        ("usd", "Must be an amount like 20.00"),
    ]
    for usd in ("4.99", "2000.01"):
        assert errors(alice.post(STAGE, json=BODY | {"usd": usd})) == [("usd", "Must be 5.00-2000.00")]
    assert errors(alice.post(EXECUTE, json={})) == [
        ("payer_id", "payer_id is required"),
        ("payment_id", "payment_id is required"),
    ]


@pytest.mark.both
def test_a_payment_that_is_not_there_or_somebody_elses_is_not_executed(alice: Client, mallory: Client) -> None:
    for payment_id in ("PAY-NONE", staged(alice)):
        refused = executed(mallory, payment_id)
        assert refused.status_code == 403
        assert errors(refused) == [("payment_id", "You do not have permission to access this Payment")]
    assert balance(alice) == balance(mallory) == 0


def test_a_payment_that_is_declined_moves_nothing(cloud: Cloud, alice: Client) -> None:
    declined = [(None, "The payment was declined.")]
    unwilling = alice.post(EXECUTE, json={"payer_id": "DECLINED7", "payment_id": staged(alice)})
    assert (unwilling.status_code, errors(unwilling)) == (400, declined)
    cloud.fault("card_declined", euuid=alice.get("/v4/account").json()["euuid"], times=1)
    assert errors(executed(alice, staged(alice))) == declined
    assert balance(alice) == 0
    assert actions(alice) == []
    books_are_in_order(cloud)


@pytest.mark.both
def test_a_declined_payment_may_be_executed_again_by_a_willing_payer(cloud: Cloud, alice: Client) -> None:
    payment_id, key = staged(alice), {"Idempotency-Key": "one"}
    unwilling = {"payer_id": "DECLINED7", "payment_id": payment_id}
    assert [alice.post(EXECUTE, json=unwilling, headers=key).status_code for _ in range(2)] == [400, 400]
    willing = {"payer_id": "GX7Y2", "payment_id": payment_id}
    assert [alice.post(EXECUTE, json=willing, headers=key).status_code for _ in range(2)] == [200, 200]
    assert balance(alice) == -20
    assert errors(executed(alice, payment_id)) == [("payment_id", "This payment was executed already.")]
    books_are_in_order(cloud)


def test_a_staged_payment_expires_and_is_forgotten(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    payment_id = staged(alice)
    cloud.advance(86_400)
    late = executed(alice, payment_id)
    assert (late.status_code, errors(late)) == (400, [("payment_id", "This payment has expired.")])
    cloud.advance(2 * 86_400)
    staged(alice)
    assert len(rows(cloud, "SELECT 1 FROM staged_payment")) == 1


def test_a_restricted_user_needs_access_to_the_account(cloud: Cloud, alice: Client) -> None:
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    bob = cloud.client(cloud.token("bob"))
    assert bob.post(STAGE, json=BODY).status_code == executed(bob, "PAY-NONE").status_code == 403
    alice.put("/v4/account/users/bob/grants", json={"global": {"account_access": "read_only"}})
    payment_id = staged(bob)
    assert errors(executed(bob, payment_id)) == [(None, "Unauthorized")]
    alice.put("/v4/account/users/bob/grants", json={"global": {"account_access": "read_write"}})
    assert executed(bob, payment_id).status_code == 200


def test_who_tries_out_payers_is_stopped(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        assert alice.post(EXECUTE, json={"payer_id": "DECLINED7", "payment_id": staged(alice)}).status_code == 400
    waiting = staged(alice)
    monkeypatch.setattr(type(cloud.runtime.settings), "sandbox", False, raising=False)
    assert executed(alice, waiting).status_code == 429
