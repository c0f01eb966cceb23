"""Production takes no card unless the operator has set a payment gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.observed import errors
from tests.resources.money import CARD, books_are_in_order, done, instance, invoices, rows, stand_at, until
from tests.served import run_here, serving

PRODUCTION: dict[str, Any] = {"mode": "production", "secret_key": "5" * 64, "base_url": "https://cloud.example"}
NOT_TAKEN = "This service takes no payments. Please contact its operator to pay an invoice."
METHOD = {"type": "credit_card", "is_default": True, "data": CARD}
PAYPAL = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("/v4/account/credit-card", CARD),
    ("/v4/account/payment-methods", METHOD),
    ("/v4/account/payments", {"usd": "500.00"}),
    ("/v4/account/payments/paypal", PAYPAL),
    ("/v4/account/payments/paypal/execute", {"payer_id": "GX7Y2", "payment_id": "PAY-1"}),
]


@pytest.fixture(params=["sqlite", "postgresql"])
def production(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    database = None
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.address(server.create())
    cloud = Cloud(database, **PRODUCTION)
    yield cloud
    cloud.close()


def refused(answer: Response) -> bool:
    return (answer.status_code, errors(answer)) == (400, [(None, NOT_TAKEN)])


@pytest.mark.both
def test_production_takes_no_card_and_no_payment(production: Cloud) -> None:
    for path, body in REFUSED:
        assert refused(production.admin.post(path, json=body)), path
    assert production.admin.get("/v4/account/payment-methods").json()["results"] == 0
    assert production.admin.get("/v4/account").json()["balance"] == 0
    assert rows(production, "SELECT key FROM charge") == []


@pytest.mark.both
def test_an_invoice_stays_due_without_a_gateway(production: Cloud) -> None:
    """A card from before, of a server that had a gateway, is not charged either."""
    stand_at(production, "2031-03-10T00:00:00")
    instance(production.admin)
    with production.runtime.database.write() as db:
        db.raw(
            "INSERT INTO payment_method (account_id, type, is_default, token, card_type, last_four, expiry, created)"
            " VALUES (1, 'credit_card', TRUE, 'sim_card_1', 'Visa', '1111', '12/2099', '2031-03-10T00:00:00')"
        )
    until(production, "2031-04-01T01:00:00")
    (invoice,) = invoices(production.admin)
    assert production.admin.get("/v4/account").json()["balance"] == invoice["total"] > 0
    assert production.admin.get("/v4/account/payments").json()["results"] == 0
    assert "past due" in str(production.admin.get("/v4/account/notifications").json())
    books_are_in_order(production)


def test_an_account_that_owes_something_is_told_why_it_cannot_close(production: Cloud) -> None:
    stand_at(production, "2031-03-10T00:00:00")
    instance(production.admin)
    until(production, "2031-03-12T00:00:00")
    answer = production.admin.post("/v4/account/cancel", json={})
    assert (answer.status_code, errors(answer)) == (409, [(None, NOT_TAKEN)])


def test_a_sandbox_without_a_gateway_refuses_too() -> None:
    cloud = Cloud(payment_gateway="none")
    assert refused(cloud.admin.post("/v4/account/payments", json={"usd": "5.00"}))
    assert cloud.person(card="valid").get("/v4/account/payment-methods").json()["results"] == 0
    cloud.close()


def test_the_simulated_gateway_of_production_has_to_be_set() -> None:
    cloud = Cloud(**PRODUCTION, payment_gateway="simulated")
    done(cloud.admin.post("/v4/account/credit-card", json=CARD))
    done(cloud.admin.post("/v4/account/payments", json={"usd": "20.00"}))
    assert cloud.admin.get("/v4/account").json()["balance"] == -20
    cloud.close()


def environment(**more: str) -> dict[str, str]:
    return {f"CROFTER_{name.upper()}": str(value) for name, value in {**PRODUCTION, **more}.items()}


WARNING = "payment_gateway is simulated in production: cards are accepted and invoices marked as paid without any money"


def test_each_start_of_production_with_the_simulated_gateway_warns(tmp_path: Path) -> None:
    for _ in range(2):
        with serving("--data", str(tmp_path), env=environment(payment_gateway="simulated")) as server:
            assert WARNING in server.log()
    with serving("--data", str(tmp_path), env=environment()) as server:
        assert "payment_gateway" not in server.log()


@pytest.mark.parametrize(
    ("gateway", "well", "state"),
    [
        ({}, True, "none: cards and payments are refused, and invoices stay due"),
        ({"payment_gateway": "simulated"}, False, WARNING),
    ],
)
def test_a_doctor_says_which_gateway_there_is(gateway: dict[str, str], well: bool, state: str, tmp_path: Path) -> None:
    data, env = str(tmp_path), environment(**gateway)
    assert run_here("admin", "init", "--data", data, env=env).returncode == 0
    ended = run_here("admin", "doctor", "--json", "--data", data, env=env)
    checks = {row["check"]: row for row in json.loads(ended.stdout)}
    assert (checks["payments"]["ok"], checks["payments"]["found"]) == (well, state)
    assert "payments" not in checks["driver"]["found"]
