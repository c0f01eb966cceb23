"""Everything that moves money or instances between accounts, with crashes and with a failure at every step."""

from __future__ import annotations

from typing import Any

import pytest

from crofter import operations
from crofter.engine import Operation, Step
from crofter.resources.billing.payments import UNDER_WAY
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.money import done
from tests.resources.money_scenarios import (
    SCENARIOS,
    Scenario,
    TwoCustomers,
    all_is_in_order,
    dying,
    is_billed_once,
    is_paid,
    minutes_pass,
    use,
)
from tests.sweep import planted

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


def played(cloud: Cloud, operation: Operation, step: Step, what: str, *, times: int) -> tuple[Scenario, TwoCustomers]:
    """The scenario of an operation, in which something went so wrong so many times at one step."""
    scenario = SCENARIOS[operation.kind]
    customers = TwoCustomers(cloud, scenario.at)
    scenario.before(customers)
    with planted(cloud, operation.kind, step, what) as plant:
        scenario.act(customers)
    assert plant.fired == times
    return scenario, customers


@pytest.mark.parametrize(("operation", "step"), POINTS, ids=IDS)
def test_crashes_before_and_after_a_step_change_nothing(cloud: Cloud, operation: Operation, step: Step) -> None:
    scenario, customers = played(cloud, operation, step, "crashes", times=2)
    scenario.done(customers)
    all_is_in_order(customers)


@pytest.mark.parametrize(("operation", "step"), POINTS, ids=IDS)
def test_a_failure_at_a_step_loses_nothing_and_takes_nothing_twice(
    cloud: Cloud, operation: Operation, step: Step
) -> None:
    scenario, customers = played(cloud, operation, step, "fail", times=1)
    scenario.failed(customers, step)
    all_is_in_order(customers)


@pytest.mark.parametrize("when", ["before", "after", "unheard"])
def test_a_gateway_that_fails_for_an_hour_takes_the_money_of_an_invoice_once(cloud: Cloud, when: str) -> None:
    """Longer than an operation tries: it is given up, and taken up again."""
    customers = TwoCustomers(cloud)
    use(customers)
    with dying(cloud, when):
        customers.until("2027-04-01T01:00:00")
    assert customers.rows("SELECT status FROM charge") == [("pending",)]
    assert customers.mails("Invoice") == []
    assert customers.rows("SELECT state FROM operation WHERE kind = 'billing.invoice' ORDER BY id") == [
        ("failed",),
        ("queued",),
    ]
    customers.until("2027-04-01T07:00:00")
    is_billed_once(customers)
    all_is_in_order(customers)


# charges within a request


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_payment_over_which_the_service_dies_is_made_once_or_never(cloud: Cloud, when: str) -> None:
    customers = TwoCustomers(cloud)
    asked: dict[str, Any] = {"json": {"usd": "20.00"}, "headers": {"Idempotency-Key": "march"}}
    with dying(cloud, when):
        assert customers.alice.post("/v4/account/payments", **asked).status_code == 500
    assert customers.alice.get("/v4/account").json()["balance"] == 0
    minutes_pass(customers)
    again = customers.alice.post("/v4/account/payments", **asked)
    statuses = {"after": [("paid",)], "before": [("declined",), ("paid",)]}  # an interrupted charge is called off
    assert customers.rows("SELECT status FROM charge ORDER BY status") == statuses[when]
    (payment,) = customers.alice.get("/v4/account/payments").json()["data"]
    assert (again.status_code, again.json()) == (200, payment)
    assert customers.alice.get("/v4/account").json()["balance"] == -20
    all_is_in_order(customers)


@pytest.mark.parametrize("when", ["before", "after", "unheard"])
def test_a_staged_payment_over_which_the_service_dies_is_executed_once_or_never(cloud: Cloud, when: str) -> None:
    customers = TwoCustomers(cloud)
    path = "/v4/account/payments/paypal"
    staging = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
    approved = {"payer_id": "GX7Y2", "payment_id": done(customers.alice.post(path, json=staging))["payment_id"]}
    asked: dict[str, Any] = {"json": approved, "headers": {"Idempotency-Key": "march"}}
    with dying(cloud, when):
        assert customers.alice.post(f"{path}/execute", **asked).status_code == (503 if when == "unheard" else 500)
    assert customers.alice.get("/v4/account").json()["balance"] == 0
    minutes_pass(customers)
    again = customers.alice.post(f"{path}/execute", **asked)
    anew = customers.alice.post(f"{path}/execute", json=approved)
    assert (anew.status_code, errors(anew)) == (400, [("payment_id", "This payment was executed already.")])
    assert (again.status_code, again.json()) == (200, {})
    if when == "before":
        assert customers.rows("SELECT status FROM charge ORDER BY status") == [("declined",), ("paid",)]
        assert customers.alice.get("/v4/account").json()["balance"] == -20
    else:
        is_paid(customers)
    all_is_in_order(customers)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_account_over_whose_end_the_service_dies_is_charged_once_and_can_be_ended(cloud: Cloud, when: str) -> None:
    customers = TwoCustomers(cloud)
    use(customers)
    customers.until("2027-03-31T20:30:00")
    with dying(cloud, when):
        assert customers.alice.post("/v4/account/cancel", json={}).status_code == 500
    refused = customers.alice.post("/v4/account/cancel", json={})
    assert (refused.status_code, errors(refused)) == (409, [(None, UNDER_WAY)])
    customers.until("2027-03-31T20:45:00")
    assert customers.alice.get("/v4/account").json()["balance"] == (0 if when == "after" else 0.04)
    done(customers.alice.post("/v4/account/cancel", json={}))
    assert customers.rows("SELECT total FROM invoice") == [(40_000,)]  # the hour that had begun, and its tax
    assert customers.rows("SELECT amount FROM payment") == [(40_000,)]
    cloud.settle()
    assert customers.rows("SELECT 1 FROM instance") == []
    all_is_in_order(customers)
