"""Cards and payments, through HTTP."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.drivers.payments import InDoubt, Outcome, SimulatedGateway
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.resources.money import CARD, books_are_in_order, rows, stand_at

DECLINED = "4000000000000002"


def add(client: Client, *, default: bool = False, **card: Any) -> Response:
    body = {"type": "credit_card", "is_default": default, "data": {**CARD, **card}}
    return client.post("/v4/account/payment-methods", json=body)


def methods(client: Client) -> list[dict[str, Any]]:
    return list(client.get("/v4/account/payment-methods").json()["data"])


# ---- cards ----------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_card_is_added_shown_made_default_and_deleted(alice: Client) -> None:
    assert add(alice, card_number="5555555555554444").json() == {}
    first, second = methods(alice)
    assert second["data"] == {"card_type": "MasterCard", "expiry": "12/2099", "last_four": "4444"}
    assert (first["is_default"], second["is_default"], second["type"]) == (True, False, "credit_card")
    path = f"/v4/account/payment-methods/{second['id']}"
    assert alice.get(path).json() == second
    assert alice.post(f"{path}/make-default").json() == {}
    assert [method["is_default"] for method in methods(alice)] == [False, True]
    assert alice.get("/v4/account").json()["credit_card"] == {"expiry": "12/2099", "last_four": 4444}
    assert errors(alice.delete(path)) == [(None, "The default payment method cannot be deleted.")]
    assert alice.delete(f"/v4/account/payment-methods/{first['id']}").json() == {}
    assert [method["id"] for method in methods(alice)] == [second["id"]]
    assert actions(alice) == ["payment_method_add"]


def test_the_default_moves_to_a_card_that_asks_for_it(alice: Client) -> None:
    add(alice, default=True, card_number="371449635398431", cvv="1234")
    assert [method["is_default"] for method in methods(alice)] == [False, True]
    assert methods(alice)[1]["data"]["card_type"] == "American Express"


def test_the_first_card_is_the_default_whatever_it_asks_for(cloud: Cloud) -> None:
    owner = cloud.person(card="none")
    add(owner)
    assert methods(owner)[0]["is_default"] is True


def test_the_deprecated_way_replaces_the_card_on_file(alice: Client) -> None:
    answer = alice.post("/v4/account/credit-card", json={**CARD, "card_number": "6011111111111117"})
    assert answer.json() == {}
    assert answer.headers["warning"].startswith("299 ")
    assert [method["data"]["last_four"] for method in methods(alice)] == ["1117"]
    assert actions(alice) == ["credit_card_updated"]
    events = alice.get("/v4/account/events").json()["data"]
    assert events[0]["entity"]["type"] == "account"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"card_number": "4111111111111112"}, [("card_number", "Invalid credit card number")]),
        ({"card_number": "4111 1111 1111 1111"}, [("card_number", "Must be 14-24 digits")]),
        ({"card_number": "411111111111"}, [("card_number", "Must be 14-24 digits")]),
        ({"card_number": "4" * 25}, [("card_number", "Must be 14-24 digits")]),
        ({"card_number": 4111111111111111}, [("card_number", "Must be of type String")]),
        ({"card_number": "４１１１１１１１１１１１１１１１"}, [("card_number", "Must be 14-24 digits")]),
        ({"cvv": "12"}, [("cvv", "Must be 3-4 digits")]),
        ({"cvv": "12a"}, [("cvv", "Must be 3-4 digits")]),
        ({"expiry_month": 0}, [("expiry_month", "Must be 1-12")]),
        ({"expiry_month": 13}, [("expiry_month", "Must be 1-12")]),
        ({"expiry_year": 99}, [("expiry_year", "Must be a year of four digits")]),
        ({"expiry_year": 2020}, [("expiry_year", "The card has expired")]),
        ({"expiry_year": 2020, "cvv": "1"}, [("cvv", "Must be 3-4 digits"), ("expiry_year", "The card has expired")]),
        ({"card_number": "4111111111111112", "expiry_year": 2020, "cvv": 1}, [
            ("card_number", "Invalid credit card number"),
            ("cvv", "Must be of type String"),
            ("expiry_year", "The card has expired"),
        ]),
    ],
)  # fmt: skip
def test_a_card_that_cannot_be_one_is_refused(
    alice: Client, change: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    plain = alice.post("/v4/account/credit-card", json={**CARD, **change})
    nested = add(alice, **change)
    assert (plain.status_code, errors(plain)) == (400, expected)
    assert (nested.status_code, errors(nested)) == (400, [(f"data.{field}", reason) for field, reason in expected])
    assert len(methods(alice)) == 1


def test_a_card_is_good_to_the_end_of_its_month(cloud: Cloud) -> None:
    stand_at(cloud, "2027-03-31T23:59:59")
    alice = cloud.person(username="alice")
    assert add(alice, expiry_year=2027, expiry_month=3).status_code == 200
    assert errors(add(alice, expiry_year=2027, expiry_month=2)) == [("data.expiry_month", "The card has expired")]
    assert errors(add(alice, expiry_year=2026, expiry_month=12)) == [("data.expiry_year", "The card has expired")]
    cloud.advance(1)
    assert errors(add(alice, expiry_year=2027, expiry_month=3)) == [("data.expiry_month", "The card has expired")]


def test_everything_is_required(alice: Client) -> None:
    assert errors(alice.post("/v4/account/credit-card", json={})) == [
        (name, f"{name} is required") for name in ("card_number", "cvv", "expiry_month", "expiry_year")
    ]
    assert errors(alice.post("/v4/account/payment-methods", json={"type": "paypal", "data": {}})) == [
        ("type", "Must be one of credit_card"),
        ("is_default", "is_default is required"),
        *((f"data.{name}", f"{name} is required") for name in ("card_number", "cvv", "expiry_month", "expiry_year")),
    ]


def test_an_account_has_six_cards_at_most(alice: Client) -> None:
    assert [add(alice).status_code for _ in range(5)] == [200] * 5
    assert errors(add(alice)) == [(None, "An account can have at most 6 payment methods.")]
    last = methods(alice)[-1]["id"]
    assert alice.delete(f"/v4/account/payment-methods/{last}").status_code == 200
    assert add(alice).status_code == 200


def test_sixty_cards_a_day_are_enough(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    for number in range(60):
        answer = alice.post("/v4/account/credit-card", json=CARD) if number % 2 else add(alice, default=True)
        assert answer.status_code == 200, answer.text
        for method in methods(alice):
            if not method["is_default"]:
                alice.delete(f"/v4/account/payment-methods/{method['id']}")
    assert errors(add(alice)) == [(None, "At most 60 payment methods can be added in a day.")]
    again = alice.post("/v4/account/credit-card", json=CARD)
    assert errors(again) == [(None, "At most 60 payment methods can be added in a day.")]
    cloud.advance(86400)
    assert add(alice).status_code == 200


def test_somebody_elses_card_is_not_there(alice: Client, mallory: Client) -> None:
    path = f"/v4/account/payment-methods/{methods(alice)[0]['id']}"
    assert {
        mallory.get(path).status_code,
        mallory.delete(path).status_code,
        mallory.post(f"{path}/make-default").status_code,
    } == {404}
    stolen = mallory.post("/v4/account/payments", json={"usd": "5.00", "payment_method_id": methods(alice)[0]["id"]})
    assert stolen.status_code == 403
    assert errors(stolen)[0][0] == "payment_method_id"


def test_a_card_number_is_kept_nowhere(cloud: Cloud, alice: Client, caplog: pytest.LogCaptureFixture) -> None:
    number, cvv = "4929420573595709", "8642"
    caplog.set_level("DEBUG")
    assert add(alice, card_number=number, cvv=cvv).status_code == 200
    shown = alice.get("/v4/account/payment-methods").text + alice.get("/v4/account/events").text
    wrong = alice.post("/v4/account/payment-methods", json={"type": "x", "data": {**CARD, "card_number": number + "x"}})
    # Kept under an idempotency key, the answer must not carry it either; nor must a body that is no JSON.
    alice.post("/v4/account/credit-card", json={**CARD, "card_number": number}, headers={"Idempotency-Key": "again"})
    broken = alice.post("/v4/account/credit-card", content=json.dumps({**CARD, "card_number": number})[:-1])
    for text in (shown, wrong.text, broken.text, caplog.text):
        assert number not in text
    with cloud.runtime.database.read() as db:
        for row in _everything(db):
            assert number not in row
            assert not re.search(rf"(?<!\w){cvv}(?!\w)", row)


def _everything(db: Any) -> list[str]:
    if db.dialect == "sqlite":
        names = db.raw("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    else:
        names = db.raw("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return [str(row) for (name,) in names for row in db.raw(f'SELECT * FROM "{name}"').fetchall()]


# ---- payments -------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_payment_lowers_the_balance_and_is_listed_newest_first(alice: Client) -> None:
    answer = alice.post("/v4/account/payments", json={"usd": "$20.00"})
    assert answer.status_code == 200, answer.text
    paid = answer.json()
    assert set(paid) == {"date", "id", "usd"}
    assert paid["usd"] == 20
    assert alice.get("/v4/account").json()["balance"] == -20
    second = alice.post("/v4/account/payments", json={"usd": "5.25", "cvv": "123"}).json()
    assert [payment["id"] for payment in alice.get("/v4/account/payments").json()["data"]] == [second["id"], paid["id"]]
    assert alice.get(f"/v4/account/payments/{paid['id']}").json() == paid
    assert actions(alice) == ["payment_submitted", "payment_submitted"]
    assert alice.get("/v4/account/events").json()["data"][0]["username"] == "alice"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("usd", "usd is required")]),
        ({"usd": 20}, [("usd", "Must be of type String")]),
        ({"usd": "20"}, [("usd", "Must be an amount like 20.00")]),
        ({"usd": "-20.00"}, [("usd", "Must be an amount like 20.00")]),
        ({"usd": "20.00\n"}, [("usd", "Must be an amount like 20.00")]),
        ({"usd": "4.99"}, [("usd", "Must be 5.00-2000.00")]),
        ({"usd": "0.00"}, [("usd", "Must be 5.00-2000.00")]),
        ({"usd": "2000.01"}, [("usd", "Must be 5.00-2000.00")]),
        ({"usd": "620271239256.30"}, [("usd", "Must be 5.00-2000.00")]),
        ({"usd": "20.00", "cvv": "1"}, [("cvv", "Must be 3-4 digits")]),
    ],
)
def test_a_payment_that_cannot_be_one_is_refused(
    alice: Client, body: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    answer = alice.post("/v4/account/payments", json=body)
    assert (answer.status_code, errors(answer)) == (400, expected)
    assert alice.get("/v4/account/payments").json()["results"] == 0


def test_a_declined_payment_leaves_the_balance(cloud: Cloud) -> None:
    account = cloud.account(username="carol")
    owner = cloud.client(account["token"])
    cloud.fault("card_declined", euuid=account["euuid"], times=1)
    refused = owner.post("/v4/account/payments", json={"usd": "20.00"})
    assert (refused.status_code, errors(refused)) == (400, [(None, "The payment was declined.")])
    assert owner.get("/v4/account").json()["balance"] == 0
    assert actions(owner) == []
    assert owner.post("/v4/account/payments", json={"usd": "20.00"}).status_code == 200


def test_a_card_with_a_test_number_that_declines_is_declined(alice: Client) -> None:
    add(alice, card_number=DECLINED)
    declining = methods(alice)[1]["id"]
    refused = alice.post("/v4/account/payments", json={"usd": "5.00", "payment_method_id": declining})
    assert (refused.status_code, errors(refused)) == (400, [(None, "The payment was declined.")])
    assert alice.post("/v4/account/payments", json={"usd": "5.00"}).status_code == 200


def test_without_a_card_nothing_can_be_paid(cloud: Cloud) -> None:
    refused = cloud.person(card="none").post("/v4/account/payments", json={"usd": "5.00"})
    assert errors(refused) == [("payment_method_id", "There is no payment method on file.")]


def test_the_same_key_pays_once(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    header = {"Idempotency-Key": "march"}
    first = alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=header)
    again = alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=header)
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    other = alice.post("/v4/account/payments", json={"usd": "30.00"}, headers=header)
    assert other.status_code == 409
    assert alice.get("/v4/account").json()["balance"] == -20
    cloud.advance(86400)
    assert alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=header).status_code == 200
    assert alice.get("/v4/account").json()["balance"] == -40


def pay(client: Client, usd: str = "20.00") -> Response:
    return client.post("/v4/account/payments", json={"usd": usd}, headers={"Idempotency-Key": "march"})


@pytest.mark.both
def test_a_declined_payment_may_be_sent_again_under_its_key(cloud: Cloud) -> None:
    cloud.freeze()
    owner = cloud.person(username="carol", card="declined")
    refusals = [pay(owner) for _ in range(3)]
    assert [errors(refusal) for refusal in refusals] == [[(None, "The payment was declined.")]] * 3
    assert add(owner, default=True).status_code == 200
    paid = pay(owner)
    assert paid.status_code == 200, paid.text
    replayed = pay(owner)
    assert (replayed.content, replayed.headers["idempotent-replayed"]) == (paid.content, "true")
    assert owner.get("/v4/account").json()["balance"] == -20
    assert len(rows(cloud, "SELECT 1 FROM charge WHERE status = 'declined'")) == 3
    assert actions(owner).count("payment_submitted") == 1
    books_are_in_order(cloud)


def test_another_amount_may_be_paid_under_the_key_of_a_declined_payment(cloud: Cloud) -> None:
    account = cloud.account(username="carol")
    owner = cloud.client(account["token"])
    cloud.fault("card_declined", euuid=account["euuid"], times=1)
    assert [pay(owner, usd).status_code for usd in ("20.00", "30.00", "20.00")] == [400, 200, 409]
    assert owner.get("/v4/account").json()["balance"] == -30


def test_a_second_attempt_in_doubt_is_the_same_charge_when_it_is_sent_again(
    cloud: Cloud, alice: Client, moody: Moody
) -> None:
    """Only a declined attempt is followed by another one: the answer that got lost may have been a success."""
    cloud.fault("card_declined", euuid=alice.get("/v4/account").json()["euuid"], times=1)
    assert pay(alice).status_code == 400
    moody.lost = "there"
    assert pay(alice).status_code == 503
    moody.lost = None
    assert pay(alice).status_code == 200
    assert alice.get("/v4/account").json()["balance"] == -20
    assert len(rows(cloud, "SELECT 1 FROM charge")) == 2
    books_are_in_order(cloud)


class Moody(SimulatedGateway):
    """A gateway whose answers get lost: on the way there, or on the way back."""

    lost: str | None = None

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        if self.lost == "there":
            raise InDoubt
        outcome = super().charge(key, customer, token, cents)
        if self.lost == "back":
            raise InDoubt
        return outcome


@pytest.fixture
def moody(cloud: Cloud) -> Any:
    before = cloud.runtime.payments
    gateway = Moody(cloud.runtime.database)
    cloud.runtime.payments = gateway
    yield gateway
    cloud.runtime.payments = before


def test_an_answer_that_got_lost_is_looked_up(alice: Client, moody: Moody) -> None:
    moody.lost = "back"
    assert alice.post("/v4/account/payments", json={"usd": "20.00"}).status_code == 200
    assert alice.get("/v4/account").json()["balance"] == -20


def test_a_payment_in_doubt_is_neither_taken_for_paid_nor_for_declined(
    cloud: Cloud, alice: Client, moody: Moody
) -> None:
    cloud.freeze()
    moody.lost = "there"
    header = {"Idempotency-Key": "in doubt"}
    answer = alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=header)
    assert answer.status_code == 503
    assert alice.get("/v4/account").json()["balance"] == 0
    refused = alice.post("/v4/account/cancel")
    assert refused.status_code == 409
    moody.lost = None
    paid = alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=header)
    assert paid.status_code == 200, paid.text
    cloud.advance(3600)
    assert alice.get("/v4/account").json()["balance"] == -20
    assert alice.get("/v4/account/payments").json()["results"] == 1


def test_an_end_that_is_in_doubt_is_on_record(cloud: Cloud, alice: Client, moody: Moody) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    alice.post("/v4/compute/instances", json={"type": "g6-nanode-1", "region": "us-east", "label": "web"})
    cloud.advance(3600)
    moody.lost = "there"
    assert alice.post("/v4/account/cancel", json={"comments": "Bye."}).status_code == 503
    with cloud.runtime.database.read() as db:
        rows = db.raw("SELECT path, fields FROM audit WHERE operation = 'cancel_account'").fetchall()
    assert [(path, json.loads(fields)) for path, fields in rows] == [("/v4/account/cancel", ["comments"])]


def test_what_nobody_came_back_for_is_called_off_so_that_it_cannot_happen_later(
    cloud: Cloud, alice: Client, moody: Moody
) -> None:
    cloud.freeze()
    moody.lost = "there"
    assert alice.post("/v4/account/payments", json={"usd": "20.00"}).status_code == 503
    with cloud.runtime.database.read() as db:
        key, token = db.raw("SELECT key, token FROM charge").fetchone()
        euuid = db.raw("SELECT euuid FROM account WHERE id = 2").fetchone()[0]
    moody.lost = None
    cloud.advance(3600)
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT status FROM charge").fetchone()[0] == "declined"
    late = moody.charge(f"{euuid}:{key}", euuid, token, 2000)
    assert late.paid is False
    assert alice.get("/v4/account").json()["balance"] == 0


def test_what_arrived_although_nobody_heard_the_answer_becomes_a_payment(
    cloud: Cloud, alice: Client, moody: Moody
) -> None:
    cloud.freeze()
    moody.lost = "there"
    assert alice.post("/v4/account/payments", json={"usd": "20.00"}).status_code == 503
    with cloud.runtime.database.read() as db:
        key, token = db.raw("SELECT key, token FROM charge").fetchone()
        euuid = db.raw("SELECT euuid FROM account WHERE id = 2").fetchone()[0]
    moody.lost = None
    assert moody.charge(f"{euuid}:{key}", euuid, token, 2000).paid
    cloud.advance(3600)
    assert alice.get("/v4/account").json()["balance"] == -20
    assert actions(alice) == ["payment_submitted"]
