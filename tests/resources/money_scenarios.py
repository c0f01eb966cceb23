"""Alice and Bob use things, pay and hand over: one scenario for each operation that moves money or instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from httpx2 import Client

from crofter.drivers.payments import InDoubt, Outcome, SimulatedGateway
from crofter.engine import Step
from tests.cloud import Cloud
from tests.observed import actions, mails
from tests.resources.money import (
    books_are_in_order,
    done,
    instance,
    invoices,
    items,
    payers,
    rows,
    stand_at,
    until,
)
from tests.sweep import PLANTED

EVENING, MIDNIGHT, NIGHT = "2027-03-31T20:00:00", "2027-04-01T00:00:10", "2027-03-11T02:00:00"
TRANSFERS = "/v4/account/service-transfers"


class TwoCustomers:
    """Alice and Bob, some hours before a month ends, and what the tests about them remember."""

    def __init__(self, cloud: Cloud, at: str = EVENING) -> None:
        self.cloud = cloud
        stand_at(cloud, at)
        cloud.settle()  # work of the skipped months
        assert cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}}).status_code == 200
        self.alice, self.bob = cloud.person(username="alice"), cloud.person(username="bob-receives")
        done(self.alice.put("/v4/account", json={"country": "DE"}))
        self.compute = 0
        self.token = ""

    def until(self, text: str) -> None:
        until(self.cloud, text)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in rows(self.cloud, sql)]

    def mails(self, subject: str) -> list[str]:
        return [mail["text"] for mail in mails(self.cloud) if mail["subject"].startswith(subject)]


# ---- transfers ------------------------------------------------------------------------------------------------------


def offer(customers: TwoCustomers) -> None:
    customers.compute = instance(customers.alice, image="compute/alpine3.15", root_pass="Vq7!mmpx-Tolp")
    customers.cloud.settle()
    customers.until("2027-03-31T22:00:00")
    customers.token = offered(customers.alice, customers.compute)


def offered(client: Client, number: int) -> str:
    return str(done(client.post(TRANSFERS, json={"entities": {"computes": [number]}}))["token"])


def accept(customers: TwoCustomers) -> None:
    done(customers.bob.post(f"{TRANSFERS}/{customers.token}/accept"))
    customers.cloud.settle()


def has_moved(customers: TwoCustomers) -> None:
    assert transfer_of(customers) == ("completed", ["create", "accept"], ["accept"])
    assert owners_of(customers) == (404, 200, ["bob-receives"])
    left = customers.rows("SELECT month, bytes FROM traffic ORDER BY month")
    assert [(month, sent > 0) for month, sent in left] == [("2027-02", False), ("2027-03", True)]
    offered(customers.bob, customers.compute)
    hours = billed_at_midnight(customers)
    assert hours == {"alice": 3, "bob-receives": 1}  # the hour that had begun is Alice's


def has_stayed(customers: TwoCustomers, _step: Step) -> None:
    assert transfer_of(customers) == ("failed", ["create", "accept", "fail"], ["accept", "fail"])
    assert customers.bob.get("/v4/account/events").json()["data"][0]["message"] == PLANTED
    assert owners_of(customers) == (200, 404, ["alice"])
    assert customers.rows("SELECT 1 FROM traffic") == []
    offered(customers.alice, customers.compute)
    assert billed_at_midnight(customers) == {"alice": 4}


def nobody_comes(customers: TwoCustomers) -> None:
    customers.until("2027-04-01T22:00:10")


def has_run_out(customers: TwoCustomers, _step: Step | None = None) -> None:
    assert transfer_of(customers) == ("stale", ["create", "stale"], [])
    assert owners_of(customers) == (200, 404, ["alice"])
    offered(customers.alice, customers.compute)


def transfer_of(customers: TwoCustomers) -> tuple[str, list[str], list[str]]:
    """Its status, and what the logs of both say of it."""
    status = done(customers.alice.get(f"{TRANSFERS}/{customers.token}"))["status"]
    return status, transfer_actions(customers.alice), transfer_actions(customers.bob)


def transfer_actions(client: Client) -> list[str]:
    full_names = [action for action in reversed(actions(client)) if action.startswith("entity_transfer_")]
    return [action.removeprefix("entity_transfer_") for action in full_names]


def owners_of(customers: TwoCustomers) -> tuple[int, int, list[str]]:
    """Return what Alice and Bob see of the instance, with its payer."""
    seen = [
        client.get(f"/v4/compute/instances/{customers.compute}").status_code
        for client in (customers.alice, customers.bob)
    ]
    return seen[0], seen[1], payers(customers.cloud, customers.compute)


def billed_at_midnight(customers: TwoCustomers) -> dict[str, int]:
    """Hours of the instance on the invoices of each."""
    customers.until(MIDNIGHT)
    people = {"alice": customers.alice, "bob-receives": customers.bob}
    lines_of = {
        name: [line for bill in invoices(client) for line in items(client, bill["id"])]
        for name, client in people.items()
    }
    return {name: sum(line["quantity"] for line in lines) for name, lines in lines_of.items() if lines}


# ---- invoices -------------------------------------------------------------------------------------------------------


def use(customers: TwoCustomers) -> None:
    instance(customers.alice, "g6-standard-2")


def month_ends(customers: TwoCustomers) -> None:
    customers.until(MIDNIGHT)


def is_billed_once(customers: TwoCustomers) -> None:
    (bill,) = invoices(customers.alice)
    assert (bill["date"], bill["subtotal"], bill["tax"]) == ("2027-04-01T00:00:00", 0.12, 0.02)
    is_paid_once(customers, bill)


def is_paid_once(customers: TwoCustomers, bill: dict[str, Any]) -> None:
    assert [payment["usd"] for payment in customers.alice.get("/v4/account/payments").json()["data"]] == [bill["total"]]
    assert customers.rows("SELECT status FROM charge") == [("paid",)]
    assert customers.alice.get("/v4/account").json()["balance"] == 0
    assert actions(customers.alice).count("payment_submitted") == 1
    assert customers.mails("Invoice") == [f"{bill['label']} is ready.\nNothing is due.\n"]


def is_billed_later(customers: TwoCustomers, step: Step) -> None:
    made = 1 if step.name == "collect" else 0
    assert len(invoices(customers.alice)) == made
    assert customers.rows("SELECT status FROM charge") == [("pending",)] * made
    assert customers.mails("Invoice") == []
    customers.until("2027-04-01T06:01:00")
    is_billed_once(customers)


def use_much(customers: TwoCustomers) -> None:
    instance(customers.alice, "g6-standard-16")
    with customers.cloud.runtime.database.write() as db:
        began = customers.cloud.runtime.clock.now() - 120 * 3_600_000  # as if created five days ago
        db.raw(f"UPDATE meter SET began = {began}, billed_until = {began}")


def morning_comes(customers: TwoCustomers) -> None:
    customers.until("2027-03-11T03:00:10")


def is_billed_in_between(customers: TwoCustomers) -> None:
    (bill,) = invoices(customers.alice)
    assert (bill["date"], bill["subtotal"]) == ("2027-03-11T03:00:03", 58.56)  # 122 hours, at the third try
    is_paid_once(customers, bill)


def is_billed_the_next_morning(customers: TwoCustomers, _step: Step) -> None:
    assert invoices(customers.alice) == []
    customers.until("2027-03-12T03:00:10")
    (bill,) = invoices(customers.alice)
    assert (bill["date"], bill["subtotal"]) == ("2027-03-12T03:00:00", 69.6)  # 145 hours
    is_paid_once(customers, bill)


# ---- payments -------------------------------------------------------------------------------------------------------


class Dying(SimulatedGateway):
    """A gateway over which the server dies, before or after a charge; or which it does not hear any more."""

    def __init__(self, cloud: Cloud, when: str) -> None:
        super().__init__(cloud.runtime.database)
        self._when = when

    def _once(self, key: str, *, customer: str, token: str, cents: int, payment_id: str | None = None) -> Outcome:
        if self._when == "before":
            raise RuntimeError("the server died here")
        super()._once(key, customer=customer, token=token, cents=cents, payment_id=payment_id)
        raise InDoubt if self._when == "unheard" else RuntimeError("the server died here")

    def find(self, key: str) -> Outcome | None:
        raise InDoubt


@contextmanager
def dying(cloud: Cloud, when: str) -> Iterator[None]:
    runtime = cloud.runtime
    before, runtime.payments = runtime.payments, Dying(cloud, when)
    try:
        yield
    finally:
        runtime.payments = before


def pay_unheard(customers: TwoCustomers) -> None:
    with dying(customers.cloud, "unheard"):
        assert customers.alice.post("/v4/account/payments", json={"usd": "20.00"}).status_code == 503


def minutes_pass(customers: TwoCustomers) -> None:
    customers.until("2027-03-31T20:15:00")


def is_paid(customers: TwoCustomers) -> None:
    assert customers.rows("SELECT status FROM charge") == [("paid",)]
    assert [payment["usd"] for payment in customers.alice.get("/v4/account/payments").json()["data"]] == [20]
    assert customers.alice.get("/v4/account").json()["balance"] == -20
    assert actions(customers.alice).count("payment_submitted") == 1


def is_paid_later(customers: TwoCustomers, _step: Step) -> None:
    assert customers.rows("SELECT status FROM charge") == [("pending",)]
    customers.until("2027-04-01T03:00:00")
    is_paid(customers)


# all scenarios


class Scenario(NamedTuple):
    """How an operation comes about, and what must be so when it came to its end, or could not."""

    at: str
    before: Callable[[TwoCustomers], None]
    act: Callable[[TwoCustomers], None]
    done: Callable[[TwoCustomers], None]
    failed: Callable[[TwoCustomers, Step], None]


SCENARIOS = {
    "transfer.complete": Scenario(EVENING, offer, accept, has_moved, has_stayed),
    "transfer.expire": Scenario(EVENING, offer, nobody_comes, has_run_out, has_run_out),
    "billing.invoice": Scenario(EVENING, use, month_ends, is_billed_once, is_billed_later),
    "billing.close_month": Scenario(EVENING, use, month_ends, is_billed_once, is_billed_later),
    "billing.threshold": Scenario(NIGHT, use_much, morning_comes, is_billed_in_between, is_billed_the_next_morning),
    "billing.follow_up": Scenario(EVENING, pay_unheard, minutes_pass, is_paid, is_paid_later),
}


def all_is_in_order(customers: TwoCustomers) -> None:
    """Check that no money was taken twice, no charge is pending, and all balances match the ledger."""
    books_are_in_order(customers.cloud)
    for name, client in (("alice", customers.alice), ("bob-receives", customers.bob)):
        account = f"(SELECT account_id FROM account_user WHERE username = '{name}')"
        ((owed,),) = customers.rows(f"SELECT sum(amount) FROM ledger WHERE book = 'owed' AND account_id = {account}")
        answer = client.get("/v4/account")
        assert answer.status_code == 401 or round(answer.json()["balance"] * 1_000_000) == (owed or 0), name
    assert customers.rows("SELECT 1 FROM charge WHERE status = 'pending'") == []
    assert customers.rows("SELECT 1 FROM transfer WHERE status = 'accepted'") == []
    held = "SELECT 1 FROM transfer_claim c JOIN transfer t ON t.id = c.transfer_id WHERE t.status <> 'pending'"
    assert customers.rows(held) == []
    running = "SELECT object_id, account_id FROM meter WHERE what = 'compute' AND ended IS NULL"
    assert sorted(customers.rows(running)) == sorted(customers.rows("SELECT id, account_id FROM instance"))
