"""Everything that moves money or instances between accounts, with crashes and with a failure at every step."""

from __future__ import annotations

from typing import Any

import pytest

from crofter import operations
from crofter.engine import Operation, Step
from crofter.resources.billing.payments import UNDER_WAY
from tests.cloud import Cloud
from tests.resources.money import done
from tests.resources.town import (
    SCENARIOS,
    Scenario,
    Town,
    all_is_in_order,
    dying,
    is_billed_once,
    is_paid,
    minutes_pass,
    use,
)
from tests.sweep import planted
from tests.told import errors

API_MODULES = ("crofter.resources.billing.", "crofter.resources.transfers.")
POINTS: list[tuple[Operation, Step]] = [
    (operation, step)
    for operation in operations.OPERATIONS
    for step in operation.steps
    if step.run.__module__.startswith(API_MODULES)
]
IDS = [f"{operation.kind}.{step.name}" for operation, step in POINTS]


def test_every_operation_has_its_scenario() -> None:
    assert {operation.kind for operation, _ in POINTS} == set(SCENARIOS)


def played(cloud: Cloud, operation: Operation, step: Step, what: str, *, times: int) -> tuple[Scenario, Town]:
    """The scenario of an operation, in which something went so wrong so many times at one step."""
    scenario = SCENARIOS[operation.kind]
    town = Town(cloud, scenario.at)
    scenario.before(town)
    with planted(cloud, operation.kind, step, what) as plant:
        scenario.act(town)
    assert plant.fired == times
    return scenario, town


@pytest.mark.parametrize(("operation", "step"), POINTS, ids=IDS)
def test_crashes_before_and_after_a_step_change_nothing(cloud: Cloud, operation: Operation, step: Step) -> None:
    scenario, town = played(cloud, operation, step, "crashes", times=2)
    scenario.done(town)
    all_is_in_order(town)


@pytest.mark.parametrize(("operation", "step"), POINTS, ids=IDS)
def test_a_failure_at_a_step_loses_nothing_and_takes_nothing_twice(
    cloud: Cloud, operation: Operation, step: Step
) -> None:
    scenario, town = played(cloud, operation, step, "fail", times=1)
    scenario.failed(town, step)
    all_is_in_order(town)


@pytest.mark.parametrize("when", ["before", "after", "unheard"])
def test_a_gateway_that_fails_for_an_hour_takes_the_money_of_an_invoice_once(cloud: Cloud, when: str) -> None:
    """Longer than an operation tries: it is given up, and taken up again."""
    town = Town(cloud)
    use(town)
    with dying(cloud, when):
        town.until("2027-04-01T01:00:00")
    assert town.rows("SELECT status FROM charge") == [("pending",)]
    assert town.mails("Invoice") == []
    assert town.rows("SELECT state FROM operation WHERE kind = 'billing.invoice' ORDER BY id") == [
        ("failed",),
        ("queued",),
    ]
    town.until("2027-04-01T07:00:00")
    is_billed_once(town)
    all_is_in_order(town)


# ---- what a request does itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_payment_over_which_the_service_dies_is_made_once_or_never(cloud: Cloud, when: str) -> None:
    town = Town(cloud)
    asked: dict[str, Any] = {"json": {"usd": "20.00"}, "headers": {"Idempotency-Key": "march"}}
    with dying(cloud, when):
        assert town.alice.post("/v4/account/payments", **asked).status_code == 500
    assert town.alice.get("/v4/account").json()["balance"] == 0
    minutes_pass(town)
    again = town.alice.post("/v4/account/payments", **asked)
    if when == "after":
        is_paid(town)
        assert again.json() == town.alice.get("/v4/account/payments").json()["data"][0]
    else:
        assert (again.status_code, errors(again)) == (400, [(None, "The payment was declined.")])
        assert town.rows("SELECT status FROM charge") == [("declined",)]
        done(town.alice.post("/v4/account/payments", json={"usd": "20.00"}))
    assert town.alice.get("/v4/account").json()["balance"] == -20
    all_is_in_order(town)


@pytest.mark.parametrize("when", ["before", "after", "unheard"])
def test_a_staged_payment_over_which_the_service_dies_is_executed_once_or_never(cloud: Cloud, when: str) -> None:
    town = Town(cloud)
    path = "/v4/account/payments/paypal"
    staging = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
    approved = {"payer_id": "GX7Y2", "payment_id": done(town.alice.post(path, json=staging))["payment_id"]}
    asked: dict[str, Any] = {"json": approved, "headers": {"Idempotency-Key": "march"}}
    with dying(cloud, when):
        assert town.alice.post(f"{path}/execute", **asked).status_code == (503 if when == "unheard" else 500)
    assert town.alice.get("/v4/account").json()["balance"] == 0
    minutes_pass(town)
    again = town.alice.post(f"{path}/execute", **asked)
    anew = town.alice.post(f"{path}/execute", json=approved)
    assert (anew.status_code, errors(anew)) == (400, [("payment_id", "This payment was executed already.")])
    if when == "before":
        assert (again.status_code, errors(again)) == (400, [(None, "The payment was declined.")])
        assert town.rows("SELECT status FROM charge") == [("declined",)]
    else:
        assert (again.status_code, again.json()) == (200, {})
        is_paid(town)
    all_is_in_order(town)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_account_over_whose_end_the_service_dies_is_charged_once_and_can_be_ended(cloud: Cloud, when: str) -> None:
    town = Town(cloud)
    use(town)
    town.until("2027-03-31T20:30:00")
    with dying(cloud, when):
        assert town.alice.post("/v4/account/cancel", json={}).status_code == 500
    refused = town.alice.post("/v4/account/cancel", json={})
    assert (refused.status_code, errors(refused)) == (409, [(None, UNDER_WAY)])
    town.until("2027-03-31T20:45:00")
    assert town.alice.get("/v4/account").json()["balance"] == (0 if when == "after" else 0.04)
    done(town.alice.post("/v4/account/cancel", json={}))
    assert town.rows("SELECT total FROM invoice") == [(40_000,)]  # the hour that had begun, and its tax
    assert town.rows("SELECT amount FROM payment") == [(40_000,)]
    cloud.settle()
    assert town.rows("SELECT 1 FROM instance") == []
    all_is_in_order(town)
