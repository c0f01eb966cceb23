"""The account through HTTP: contact data, settings, promotions, cancellation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from httpx2 import Client

from crofter.context import Context
from crofter.engine import Sleep, StepContext
from crofter.resources.billing import invoices
from crofter.resources.closing import rules as closing
from crofter.resources.instances import delete as deletion
from tests.cloud import Cloud
from tests.observed import actions, errors, mails
from tests.resources.money import stand_at
from tests.resources.stock import Stock
from tests.sweep import planted

FIELDS = {
    "active_promotions",
    "active_since",
    "address_1",
    "address_2",
    "balance",
    "balance_uninvoiced",
    "capabilities",
    "city",
    "company",
    "country",
    "credit_card",
    "email",
    "euuid",
    "first_name",
    "last_name",
    "phone",
    "state",
    "tax_id",
    "zip",
}
UNPAID = "The account cannot be cancelled until the outstanding balance is paid: the card on file could not be charged."


def instance(client: Client, **more: Any) -> dict[str, Any]:
    answer = client.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1", **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def days(cloud: Cloud, count: int) -> None:
    """Let much time pass, without a client that loses patience."""
    cloud.application.time_travel.advance(count * 86400)


def restricted(cloud: Cloud, owner: Client, username: str, access: str | None) -> Client:
    """A user of the same account with this much access to the account, and nothing else."""
    body = {"username": username, "email": f"{username}@example.com", "restricted": True}
    assert owner.post("/v4/account/users", json=body).status_code == 200
    granted = owner.put(f"/v4/account/users/{username}/grants", json={"global": {"account_access": access}})
    assert granted.status_code == 200, granted.text
    return cloud.client(cloud.token(username))


@pytest.mark.both
def test_the_account_shows_what_the_interface_says(alice: Client) -> None:
    account = alice.get("/v4/account").json()
    assert set(account) == FIELDS
    assert account["email"] == "alice@example.com"
    assert (account["balance"], account["balance_uninvoiced"], account["active_promotions"]) == (0, 0, [])
    assert account["credit_card"]["last_four"] == 1111
    assert account["credit_card"]["expiry"].startswith("12/20")
    assert "Computes" in account["capabilities"]
    assert account["tax_id"] == ""


def test_an_account_without_a_card_has_none_to_show(cloud: Cloud) -> None:
    account = cloud.person(card="none").get("/v4/account").json()
    assert account["credit_card"] == {"expiry": None, "last_four": None}


@pytest.mark.both
def test_contact_data_can_be_changed_field_by_field(alice: Client) -> None:
    changes = {
        "address_1": "123 Main Street",
        "address_2": "Suite A",
        "city": "Philadelphia",
        "company": "Croft & Daughters",
        "country": "us",
        "email": "bills@example.com",
        "first_name": "Alice",
        "last_name": "Croft",
        "phone": "215-555-1212",
        "state": "pa",
        "tax_id": "",
        "zip": "19102-1234",
    }
    answer = alice.put("/v4/account", json=changes)
    assert answer.status_code == 200, answer.text
    shown = alice.get("/v4/account").json()
    assert answer.json() == shown
    assert {name: shown[name] for name in changes} == {**changes, "country": "US", "state": "PA"}
    assert alice.put("/v4/account", json={"city": "York"}).json()["company"] == "Croft & Daughters"
    events = alice.get("/v4/account/events").json()["data"]
    assert [event["action"] for event in events] == ["account_update", "account_update"]
    assert events[0]["entity"] == {"id": None, "label": None, "type": "account", "url": "/v4/account"}


def test_every_problem_is_told_at_once_in_the_order_of_the_fields(alice: Client) -> None:
    answer = alice.put(
        "/v4/account",
        json={
            "zip": "not a zip",
            "state": "Pennsylvania",
            "country": "US",
            "address_1": "x" * 65,
            "city": 7,
            "email": "nobody",
            "first_name": "x" * 51,
            "phone": "123 456 789 012 345 678",
            "tax_id": "x" * 101,
        },
    )
    assert answer.status_code == 400
    assert errors(answer) == [
        ("address_1", "Length must be 0-64 characters"),
        ("city", "Must be of type String"),
        ("email", "Must be a valid email address"),
        ("first_name", "Length must be 0-50 characters"),
        ("phone", "Must be a valid phone number"),
        ("state", "state is not valid"),
        ("tax_id", "Length must be 0-100 characters"),
        ("zip", "zip is not valid"),
    ]
    assert alice.get("/v4/account/events").json()["results"] == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"country": "XX"}, [("country", "country is not valid")]),
        ({"country": "USA", "state": "nowhere"}, [("country", "country is not valid")]),
        ({"country": "CA", "state": "ON", "zip": "K1A 0B1"}, []),
        ({"country": "CA", "state": "Ontario"}, [("state", "state is not valid")]),
        ({"country": "CA", "state": "PA"}, [("state", "state is not valid")]),
        ({"country": "US", "zip": "ABC"}, [("zip", "zip is not valid")]),
        ({"country": "DE", "zip": "50667", "state": "Nordrhein-Westfalen"}, []),
        ({"country": "DE", "zip": "5066"}, [("zip", "zip is not valid")]),
        ({"zip": "1234567890"}, [("zip", "Must be at most 9 letters and digits, with spaces and hyphens")]),
        ({"zip": "12_34"}, [("zip", "Must be at most 9 letters and digits, with spaces and hyphens")]),
        ({"country": "DE", "tax_id": "DE136695976"}, []),
        ({"country": "DE", "tax_id": "136695976"}, []),
        ({"country": "DE", "tax_id": "DE136695978"}, [("tax_id", "tax_id is not valid")]),
        ({"country": "GB", "tax_id": "GB980780684"}, []),
        ({"country": "AU", "tax_id": "nonsense"}, [("tax_id", "tax_id is not valid")]),
        ({"country": "US", "tax_id": "anything goes"}, []),
        ({"phone": "+49 221 1234567", "country": "DE"}, []),
        ({"phone": "call me"}, [("phone", "Must be a valid phone number")]),
        ({"company": None, "zip": None}, []),
        ({"active_promotions": [{"credit_remaining": "1000000.00"}], "balance": -5, "euuid": "mine"}, []),
    ],
)
def test_contact_data_must_be_possible(alice: Client, body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    before = alice.get("/v4/account").json()
    answer = alice.put("/v4/account", json=body)
    assert (errors(answer) if answer.status_code == 400 else []) == expected, answer.text
    shown = alice.get("/v4/account").json()
    for name in ("active_promotions", "balance", "euuid", "credit_card"):
        assert shown[name] == before[name]


def test_a_stored_country_judges_what_comes_later(alice: Client) -> None:
    assert alice.put("/v4/account", json={"country": "CA"}).status_code == 200
    assert errors(alice.put("/v4/account", json={"state": "PA"})) == [("state", "state is not valid")]
    assert alice.put("/v4/account", json={"state": "qc"}).json()["state"] == "QC"


def test_restricted_users_need_access_to_the_account(cloud: Cloud, alice: Client) -> None:
    none = restricted(cloud, alice, "bob-none", None)
    reader = restricted(cloud, alice, "bob-reads", "read_only")
    writer = restricted(cloud, alice, "bob-writes", "read_write")
    assert none.get("/v4/account").status_code == 403
    assert reader.get("/v4/account").status_code == 200
    assert reader.put("/v4/account", json={"city": "York"}).json() == {"errors": [{"reason": "Unauthorized"}]}
    assert writer.put("/v4/account", json={"city": "York"}).status_code == 200
    for user in (none, reader, writer):
        assert user.post("/v4/account/cancel", json={}).status_code == 403
        assert user.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"}).status_code == 403


def test_settings_can_be_viewed_and_changed(alice: Client) -> None:
    settings = alice.get("/v4/account/settings").json()
    assert settings == {
        "backups_enabled": False,
        "longview_subscription": None,
        "managed": False,
        "network_helper": True,
        "object_storage": "disabled",
    }
    changed = alice.put("/v4/account/settings", json={"backups_enabled": True, "managed": True}).json()
    assert changed == {**settings, "backups_enabled": True}
    assert instance(alice)["backups"]["enabled"] is True
    assert actions(alice)[-1] == "account_settings_update"


def test_managed_service_can_be_enabled_once(alice: Client) -> None:
    assert alice.post("/v4/account/settings/managed-enable").json() == {}
    assert alice.get("/v4/account/settings").json()["managed"] is True
    assert alice.post("/v4/account/settings/managed-enable").status_code == 400
    assert actions(alice) == ["managed_enabled"]


def test_the_transfer_pool_is_what_the_plans_give_for_the_part_of_the_month_that_they_are_there(
    cloud: Cloud, alice: Client
) -> None:
    assert alice.get("/v4/account/transfer").json() == {"billable": 0, "quota": 0, "used": 0}
    cloud.freeze()
    instance(alice)
    quota = alice.get("/v4/account/transfer").json()["quota"]
    assert 0 <= quota <= 1000
    days(cloud, 40)
    whole = alice.get("/v4/account/transfer").json()["quota"]
    assert whole == 1000


# ---- promotions -----------------------------------------------------------------------------------------------------


def test_a_promo_code_gives_credit_that_the_account_shows(alice: Client) -> None:
    answer = alice.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"})
    assert answer.status_code == 200, answer.text
    given = answer.json()
    assert (given["credit_remaining"], given["credit_monthly_cap"], given["service_type"]) == ("100.00", "50.00", "all")
    assert given["this_month_credit_remaining"] == "50.00"
    assert alice.get("/v4/account").json()["active_promotions"] == [given]
    assert actions(alice) == ["account_update"]


def test_a_promo_code_is_refused_with_the_reason(cloud: Cloud, alice: Client) -> None:
    def redeem(code: Any) -> list[tuple[str | None, str]]:
        return errors(alice.post("/v4/account/promo-codes", json={"promo_code": code}))

    assert redeem("NONE") == [("promo_code", "promo_code is not valid")]
    assert redeem("") == [("promo_code", "Length must be 1-32 characters")]
    assert errors(alice.post("/v4/account/promo-codes", json={})) == [("promo_code", "promo_code is required")]
    assert alice.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"}).status_code == 200
    assert redeem("SANDBOX-100") == [("promo_code", "A promotion is already active on this account.")]
    days(cloud, 91)
    assert redeem("SANDBOX-100") == [("promo_code", "Promo codes can only be used in the first 90 days of an account.")]
    assert alice.get("/v4/account").json()["active_promotions"] == []


# ---- cancelling -----------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_cancelling_charges_what_is_owed_removes_everything_and_ends_all_tokens(cloud: Cloud, alice: Client) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    number = instance(alice)["id"]
    euuid = alice.get("/v4/account").json()["euuid"]
    cloud.advance(3 * 3600)
    answer = alice.post("/v4/account/cancel", json={"comments": "Moving away."})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"survey_link"}
    assert alice.get("/v4/account").status_code == 401
    letter = mails(cloud)[0]
    assert letter["subject"].startswith("Invoice #")
    assert "Nothing is due." in letter["text"]
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw(f"SELECT count(*) FROM instance WHERE id = {number}").fetchone()[0] == 0
        account = f"(SELECT id FROM account WHERE euuid = '{euuid}')"
        paid = db.raw(f"SELECT amount FROM payment WHERE account_id = {account}").fetchall()
        owed = f"SELECT sum(amount) FROM ledger WHERE book = 'owed' AND account_id = {account}"
        assert [int(row[0]) for row in paid] == [20_000]  # three hours of a nanode
        assert int(db.raw(owed).fetchone()[0]) == 0


def test_to_plan_the_end_makes_no_invoice_not_even_to_take_it_back(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance(alice)
    made: list[int] = []
    monkeypatch.setattr(invoices, "final_periods", lambda _ctx, account_id: made.append(account_id) or [])
    planned = alice.post("/v4/account/cancel", headers={"Prefer": "plan"}).json()["plan"]
    assert (planned["price"], made) == ({"hourly": -0.0075, "monthly": -5}, [])
    assert alice.post("/v4/account/cancel").status_code == 500
    assert len(made) == 1  # confirmed by the caller


def test_a_card_that_cannot_be_charged_keeps_the_account_open(cloud: Cloud) -> None:
    owner = cloud.person(username="carol", card="declined")
    cloud.freeze()
    instance(owner)
    cloud.advance(3600)
    answer = owner.post("/v4/account/cancel", json={"comments": ""})
    assert answer.status_code == 409
    assert errors(answer) == [(None, UNPAID)]
    assert owner.get("/v4/account").json()["balance"] == 0.01
    assert owner.get("/v4/compute/instances").json()["results"] == 1
    card = {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099}
    assert owner.post("/v4/account/credit-card", json=card).status_code == 200
    assert owner.post("/v4/account/cancel").status_code == 200
    assert owner.get("/v4/account").status_code == 401


def test_an_account_without_a_card_can_be_cancelled_only_if_it_owes_nothing(cloud: Cloud) -> None:
    owner = cloud.person(username="carol", card="none")
    cloud.freeze()
    instance(owner)
    cloud.advance(3600)
    assert errors(owner.post("/v4/account/cancel")) == [(None, UNPAID)]
    assert cloud.person(card="none").post("/v4/account/cancel", json={}).status_code == 200


def test_nothing_is_billed_after_an_account_was_cancelled(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    instance(alice)
    cloud.advance(3600)
    assert alice.post("/v4/account/cancel").status_code == 200
    days(cloud, 70)
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM invoice").fetchone()[0] == 1


@pytest.mark.both
def test_a_cancelled_account_keeps_no_object_of_any_kind(cloud: Cloud, alice: Client, mallory: Client) -> None:
    def counts() -> list[int]:
        with cloud.runtime.database.read() as db:
            return [int(db.raw(f"SELECT count(account_id) FROM {table}").fetchone()[0]) for table in tables]

    tables = ("volume", "nodebalancer", "firewall", "stackscript")
    for number, owner in enumerate(("alice", "mallory")):
        stock = Stock(cloud, owner)
        stock.volume(None)
        stock.firewall(1)
        stock.nodebalancer("192.168.128.9", ipv4=f"100.64.201.{number}")
        stock.stackscript()
        stock.image()
    assert alice.post("/v4/account/cancel").status_code == 200
    cloud.settle()
    assert counts() == [1, 1, 1, 1]
    assert [image["label"] for image in mallory.get("/v4/images").json()["data"] if not image["is_public"]] == [
        "golden"
    ]


@pytest.mark.parametrize("how", ["crash", "crashes", "fail"])
def test_a_large_account_is_cleared_away_a_little_at_a_time(
    cloud: Cloud, alice: Client, mallory: Client, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Close an account with many instances without delaying others; a worker's death repeats no removal."""
    cloud.freeze()
    monkeypatch.setattr(closing, "AT_ONCE", 2)
    others = instance(mallory)
    for _ in range(5):
        instance(alice)
    Stock(cloud, "alice").volume(None)
    cloud.settle()
    taken: list[int] = []
    delete = deletion.delete
    monkeypatch.setattr(deletion, "delete", lambda ctx, removed: (taken.append(removed.id), delete(ctx, removed)))
    assert alice.post("/v4/account/cancel").status_code == 200
    assert taken == []  # not in the request
    largest = 0

    def some(ctx: Context, work: StepContext) -> Sleep | None:
        nonlocal largest
        before = len(taken)
        result = closing.remove_some.run(ctx, work)
        largest = max(largest, len(taken) - before)
        return result

    step = msgspec.structs.replace(closing.remove_some, run=some)
    with planted(cloud, closing.CLEAR.kind, step, how) as plant:
        cloud.advance(closing.TRY_AGAIN / 1000 + 60)
    assert plant.fired
    assert (largest, sorted(set(taken))) == (2, [2, 3, 4, 5, 6])
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT id FROM instance").fetchall() == [(others["id"],)]
        assert db.raw("SELECT count(*) FROM volume").fetchone()[0] == 0
        deletions = "SELECT count(*) FROM event WHERE action = 'compute_delete'"
        assert db.raw(deletions).fetchone()[0] == 5
