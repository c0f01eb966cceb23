"""Invoices, through HTTP: what is metered, when it is billed, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import actions, errors, mails
from tests.resources.money import (
    books_are_in_order,
    done,
    instance,
    invoices,
    items,
    stand_at,
    until,
)

MARCH = "2027-03-01T00:00:00"
LATE_MARCH = "2027-03-29T00:00:00"
APRIL = "2027-04-01T00:00:10"


@pytest.fixture
def owner(cloud: Cloud) -> Iterator[Client]:
    """Return a user who is new at the beginning of a month."""
    stand_at(cloud, MARCH)
    yield cloud.person(username="alice", public_ips=2)
    books_are_in_order(cloud)


@pytest.fixture
def late(cloud: Cloud) -> Iterator[Client]:
    """Return a user who is new three days before the end of a month."""
    stand_at(cloud, LATE_MARCH)
    yield cloud.person(username="alice")
    books_are_in_order(cloud)


@pytest.mark.both
def test_a_month_is_billed_on_the_first_of_the_next_and_charged(cloud: Cloud, owner: Client) -> None:
    number = instance(owner, label="web-1")
    done(owner.post(f"/v4/compute/instances/{number}/ips", json={"type": "ipv4", "public": True}))
    until(cloud, "2027-03-31T23:59:59")
    account = owner.get("/v4/account").json()
    assert (account["balance"], account["balance_uninvoiced"]) == (0, 6)
    assert invoices(owner) == []
    until(cloud, APRIL)
    (bill,) = invoices(owner)
    assert bill == {
        "date": "2027-04-01T00:00:00",
        "id": bill["id"],
        "label": f"Invoice #{bill['id']}",
        "subtotal": 6,
        "tax": 0,
        "total": 6,
    }
    assert owner.get(f"/v4/account/invoices/{bill['id']}").json() == bill
    machine = {
        "amount": 5,  # and not 5.58: a month has its price
        "from": "2027-03-01T00:00:00",
        "label": f"Nanode 1GB - web-1 ({number})",
        "quantity": 744,
        "tax": 0,
        "to": "2027-04-01T00:00:00",
        "total": 5,
        "type": "hourly",
        "unit_price": 0.0075,
    }
    label = f"Additional IPv4 address - web-1 ({number})"
    assert items(owner, bill["id"]) == [
        machine,
        {**machine, "label": label, "unit_price": 0.0015, "amount": 1, "total": 1},  # and not 1.12
    ]
    account = owner.get("/v4/account").json()
    assert (account["balance"], account["balance_uninvoiced"]) == (0, 0.01)
    assert [payment["usd"] for payment in owner.get("/v4/account/payments").json()["data"]] == [6]
    assert "payment_submitted" in actions(owner)
    assert [mail["subject"] for mail in mails(cloud)] == [f"Invoice #{bill['id']}"]


def test_what_is_off_is_billed_too_and_what_is_deleted_is_not(cloud: Cloud, late: Client) -> None:
    number = instance(late)
    until(cloud, "2027-03-30T00:30:00")
    done(late.delete(f"/v4/compute/instances/{number}"))
    assert late.get("/v4/account").json()["balance_uninvoiced"] == 0.19  # 25 hours
    until(cloud, APRIL)
    (bill,) = invoices(late)
    assert [(item["quantity"], item["amount"]) for item in items(late, bill["id"])] == [(25, 0.19)]
    until(cloud, "2027-04-03T00:00:10")
    assert len(invoices(late)) == 1
    assert late.get("/v4/account").json()["balance_uninvoiced"] == 0


def test_backups_and_addresses_are_lines_of_their_own(cloud: Cloud) -> None:
    stand_at(cloud, LATE_MARCH)
    owner = cloud.person(username="alice", public_ips=3)
    number = instance(owner, label="web-1", backups_enabled=True)
    url = f"/v4/compute/instances/{number}"
    cloud.settle()
    first = done(owner.post(f"{url}/ips", json={"type": "ipv4", "public": True}))["address"]
    until(cloud, "2027-03-30T00:00:00")
    done(owner.post(f"{url}/ips", json={"type": "ipv4", "public": True}))
    until(cloud, "2027-03-31T00:00:00")
    done(owner.delete(f"{url}/ips/{first}"))
    done(owner.post(f"{url}/backups/cancel"))
    until(cloud, APRIL)
    lines = items(owner, invoices(owner)[0]["id"])
    assert [(item["label"], item["quantity"], item["amount"]) for item in lines] == [
        (f"Nanode 1GB - web-1 ({number})", 72, 0.54),
        (f"Backup Service - Nanode 1GB - web-1 ({number})", 48, 0.14),
        (f"Additional IPv4 address - web-1 ({number})", 72, 0.11),
        (f"Additional IPv4 address - web-1 ({number})", 24, 0.04),
    ]
    books_are_in_order(cloud)


def test_managed_service_that_comes_to_much_is_billed_before_the_month_ends(cloud: Cloud, late: Client) -> None:
    done(late.post("/v4/account/settings/managed-enable"))
    for _ in range(8):
        instance(late)
    until(cloud, "2027-03-31T02:00:00")
    assert invoices(late) == []
    until(cloud, APRIL)
    bills = [(invoice["date"], invoice["total"]) for invoice in invoices(late)]
    assert bills == [("2027-03-31T03:00:00", 64.24), ("2027-04-01T00:00:00", 26.48)]  # 51 hours, and 21 more
    lines = [[(line["quantity"], line["amount"]) for line in items(late, invoice["id"])] for invoice in invoices(late)]
    assert [sorted(set(of_one)) for of_one in lines] == [[(51, 0.38), (51, 7.65)], [(21, 0.16), (21, 3.15)]]
    assert [payment["usd"] for payment in late.get("/v4/account/payments").json()["data"]] == [26.48, 64.24]


def test_managed_service_costs_for_each_instance_that_is_there_and_that_comes(cloud: Cloud, late: Client) -> None:
    first = instance(late)
    until(cloud, "2027-03-30T00:00:00")
    done(late.post("/v4/account/settings/managed-enable"))
    second = instance(late)
    until(cloud, "2027-03-30T12:00:00")
    done(late.delete(f"/v4/compute/instances/{second}"))
    until(cloud, APRIL)
    managed = [
        (item["label"].rpartition("(")[2], item["quantity"], item["amount"])
        for bill in invoices(late)
        for item in items(late, bill["id"])
        if item["label"].startswith("Managed Service")
    ]
    assert sum(amount for label, _, amount in managed if label == f"{first})") == 7.2  # 48 hours
    assert [line for line in managed if line[0] == f"{second})"] == [(f"{second})", 12, 1.8)]


def test_a_resize_is_billed_by_the_hour_on_both_sides_and_no_hour_twice(cloud: Cloud, late: Client) -> None:
    number = instance(late, label="web-1")
    cloud.settle()
    until(cloud, "2027-03-30T12:20:00")
    done(late.post(f"/v4/compute/instances/{number}/resize", json={"type": "g6-standard-1"}))
    cloud.settle()
    until(cloud, APRIL)
    lines = items(late, invoices(late)[0]["id"])
    assert [(item["label"].partition(" - ")[0], item["quantity"], item["amount"]) for item in lines] == [
        ("Nanode 1GB", 37, 0.28),
        ("Compute 2GB", 35, 0.53),
    ]


def test_an_instance_that_lives_for_minutes_is_billed_one_hour_however_often_it_is_resized(
    cloud: Cloud, late: Client
) -> None:
    number = instance(late)
    cloud.settle()
    for plan in ("g6-standard-1", "g6-nanode-1", "g6-standard-2"):
        cloud.advance(300)
        done(late.post(f"/v4/compute/instances/{number}/resize", json={"type": plan}))
        cloud.settle()
    done(late.delete(f"/v4/compute/instances/{number}"))
    until(cloud, APRIL)
    assert [item["quantity"] for item in items(late, invoices(late)[0]["id"])] == [1]


def test_a_renamed_instance_is_billed_under_its_new_name(cloud: Cloud, late: Client) -> None:
    number = instance(late, label="before")
    cloud.settle()
    done(late.put(f"/v4/compute/instances/{number}", json={"label": "after"}))
    until(cloud, APRIL)
    bill = invoices(late)[0]
    assert items(late, bill["id"])[0]["label"] == f"Nanode 1GB - after ({number})"
    done(late.put(f"/v4/compute/instances/{number}", json={"label": "later"}))
    assert items(late, bill["id"])[0]["label"] == f"Nanode 1GB - after ({number})"


def test_tax_is_that_of_the_country_and_on_every_line(cloud: Cloud, late: Client) -> None:
    done(late.put("/v4/account", json={"country": "DE", "tax_id": "DE136695976"}))
    instance(late)
    instance(late, "g6-standard-1")
    until(cloud, APRIL)
    (bill,) = invoices(late)
    assert (bill["subtotal"], bill["tax"], bill["total"]) == (1.62, 0.31, 1.93)
    assert [(item["tax"], item["total"]) for item in items(late, bill["id"])] == [(0.1, 0.64), (0.21, 1.29)]
    assert late.get("/v4/account").json()["balance"] == 0


def test_much_use_is_billed_before_the_month_ends_and_never_twice(cloud: Cloud, owner: Client) -> None:
    instance(owner, "g6-standard-16")  # 0.48 an hour, 320 a month
    until(cloud, "2027-03-05T08:00:00")
    assert invoices(owner) == []
    until(cloud, "2027-03-06T04:00:00")
    (first,) = invoices(owner)
    assert (first["date"], first["total"]) == ("2027-03-06T03:00:00", 59.04)
    until(cloud, APRIL)
    bills = invoices(owner)
    assert len(bills) > 4
    assert round(sum(bill["total"] for bill in bills), 2) == 320
    assert sum(item["quantity"] for bill in bills for item in items(owner, bill["id"])) == 744


def test_a_declined_charge_leaves_the_balance_until_it_is_paid(cloud: Cloud) -> None:
    stand_at(cloud, LATE_MARCH)
    owner = cloud.person(username="carol", card="declined")
    number = instance(owner, "g6-standard-4")
    until(cloud, APRIL)
    assert owner.get("/v4/account").json()["balance"] == 4.32
    assert [
        (notification["type"], notification["severity"])
        for notification in owner.get("/v4/account/notifications").json()["data"]
    ] == [("payment_due", "critical")]
    refused = owner.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1"})
    assert refused.status_code == 400
    assert "past due" in errors(refused)[0][1]
    assert owner.post(f"/v4/compute/instances/{number}/resize", json={"type": "g6-standard-1"}).status_code == 400
    assert owner.post("/v4/account/payments", json={"usd": "4.32"}).status_code == 400
    card = {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099}
    done(owner.post("/v4/account/credit-card", json=card))
    assert owner.post("/v4/account/payments", json={"usd": "4.31"}).status_code == 400
    done(owner.post("/v4/account/payments", json={"usd": "4.32"}))
    assert owner.get("/v4/account").json()["balance"] == 0
    assert owner.get("/v4/account/notifications").json()["data"] == []
    instance(owner)
    books_are_in_order(cloud)


def test_small_debts_may_be_paid_whole(cloud: Cloud) -> None:
    stand_at(cloud, LATE_MARCH)
    owner = cloud.person(username="carol", card="none")
    number = instance(owner)
    until(cloud, "2027-03-30T00:00:00")
    done(owner.delete(f"/v4/compute/instances/{number}"))
    until(cloud, APRIL)
    assert owner.get("/v4/account").json()["balance"] == 0.18
    card = {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099}
    done(owner.post("/v4/account/credit-card", json=card))
    assert errors(owner.post("/v4/account/payments", json={"usd": "0.17"})) == [("usd", "Must be 0.18-2000.00")]
    done(owner.post("/v4/account/payments", json={"usd": "0.18"}))


def test_what_was_paid_ahead_is_used_first(cloud: Cloud, late: Client) -> None:
    done(late.post("/v4/account/payments", json={"usd": "20.00"}))
    instance(late)
    until(cloud, APRIL)
    assert late.get("/v4/account").json()["balance"] == -19.46
    assert late.get("/v4/account/payments").json()["results"] == 1


def test_a_promotion_pays_up_to_its_monthly_cap(cloud: Cloud, owner: Client) -> None:
    done(owner.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"}))
    done(owner.put("/v4/account", json={"country": "DE"}))
    instance(owner, "g6-standard-6")  # 80 a month, so billed twice
    until(cloud, APRIL)
    bills = invoices(owner)
    credit = [item for bill in bills for item in items(owner, bill["id"]) if item["label"].startswith("Promotion")]
    assert sum(item["amount"] for item in credit) == -50
    assert {(item["type"], item["quantity"]) for item in credit} == {("misc", 1)}
    assert round(sum(bill["subtotal"] for bill in bills), 2) == 30
    assert round(sum(bill["tax"] for bill in bills), 2) == 5.7
    (left,) = owner.get("/v4/account").json()["active_promotions"]
    assert (left["credit_remaining"], left["this_month_credit_remaining"]) == ("50.00", "50.00")
    until(cloud, "2027-05-01T00:00:10")
    assert owner.get("/v4/account").json()["active_promotions"] == []


def test_a_promotion_pays_no_more_than_there_is(cloud: Cloud, late: Client) -> None:
    done(late.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"}))
    instance(late)
    until(cloud, APRIL)
    (bill,) = invoices(late)
    assert (bill["subtotal"], bill["total"]) == (0, 0)
    assert [item["amount"] for item in items(late, bill["id"])] == [0.54, -0.54]
    assert late.get("/v4/account").json()["active_promotions"][0]["credit_remaining"] == "99.46"
    assert late.get("/v4/account/payments").json()["results"] == 0


def test_invoices_are_listed_newest_first_and_are_nobody_elses(cloud: Cloud, late: Client) -> None:
    instance(late)
    until(cloud, "2027-05-01T00:00:10")
    listed = late.get("/v4/account/invoices").json()
    assert listed["results"] == 2
    assert [bill["date"] for bill in listed["data"]] == ["2027-05-01T00:00:00", "2027-04-01T00:00:00"]
    mallory = cloud.person(username="mallory")
    url = f"/v4/account/invoices/{listed['data'][0]['id']}"
    for path in ("", "/items", "/pdf", "/csv"):
        assert mallory.get(url + path).status_code == 404
    assert mallory.get("/v4/account/invoices").json()["results"] == 0


def test_an_instance_that_could_not_be_deleted_has_cost_all_the_while(cloud: Cloud, late: Client) -> None:
    number = instance(late, image="compute/debian12", root_pass="correct-horse-battery", backups_enabled=True)
    cloud.settle()
    cloud.sandbox.put("/_sandbox/transitions", json={"compute_delete": {"fail": "no"}})
    done(late.delete(f"/v4/compute/instances/{number}"))
    assert done(late.get("/v4/account/cost"))["hourly"] == 0
    cloud.settle()
    assert done(late.get(f"/v4/compute/instances/{number}"))["status"] == "running"
    assert done(late.get("/v4/account/cost"))["hourly"] == 0.0105
    until(cloud, APRIL)
    assert [item["quantity"] for item in items(late, invoices(late)[0]["id"])] == [72, 72]


def test_traffic_beyond_what_the_plans_give_is_a_line_at_the_end_of_the_month(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "src/crofter/catalogue/types.toml").read_text()
    (tmp_path / "types.toml").write_text(text.replace("transfer = 1000\n", "transfer = 1\n"))
    cloud = Cloud(catalogue=str(tmp_path))
    try:
        stand_at(cloud, MARCH)
        owner = cloud.person(username="alice")
        kept, gone = (instance(owner, image="compute/debian12", root_pass="correct-horse-battery") for _ in range(2))
        cloud.settle()
        until(cloud, "2027-03-20T00:00:00")
        before = owner.get("/v4/account/transfer").json()
        done(owner.delete(f"/v4/compute/instances/{gone}"))
        cloud.settle()
        after = owner.get("/v4/account/transfer").json()
        assert abs(after["used"] - before["used"]) <= 1
        until(cloud, "2027-03-31T23:59:59")
        pool = owner.get("/v4/account/transfer").json()
        assert pool["quota"] == 1
        assert pool["billable"] == pool["used"] - pool["quota"] > 10
        until(cloud, APRIL)
        line = items(owner, invoices(owner)[-1]["id"])[-1]
        assert (line["type"], line["unit_price"], line["quantity"]) == ("misc", 0.01, pool["billable"])
        assert line["amount"] == round(pool["billable"] / 100, 2)
        assert owner.get(f"/v4/compute/instances/{kept}").status_code == 200
        books_are_in_order(cloud)
    finally:
        cloud.close()


def test_an_operator_has_taxes_and_promotions_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "taxes.toml").write_text('[[taxes]]\nid = "CH"\nname = "VAT"\npercent = 8.1\n')
    (tmp_path / "promotions.toml").write_text(
        '[[promotions]]\nid = "BACKUPS"\nsummary = "Backups"\nservice_type = "backup"\ncredit = 9\nmonthly_cap = 1\n'
        'days = 90\n[[promotions]]\nid = "OVER"\nsummary = "x"\ncredit = 9\nmonthly_cap = 1\ndays = 9\n'
        "ends = 2027-01-01T00:00:00\n"
    )
    cloud = Cloud(catalogue=str(tmp_path))
    try:
        stand_at(cloud, LATE_MARCH)
        owner = cloud.person(username="alice")
        done(owner.put("/v4/account", json={"country": "CH"}))
        german = cloud.person(username="gerda")
        done(german.put("/v4/account", json={"country": "DE"}))
        instance(german)
        over = owner.post("/v4/account/promo-codes", json={"promo_code": "OVER"})
        assert errors(over) == [("promo_code", "This promotion has ended.")]
        done(owner.post("/v4/account/promo-codes", json={"promo_code": "BACKUPS"}))
        instance(owner, "g6-standard-6", backups_enabled=True)
        until(cloud, APRIL)
        (bill,) = invoices(owner)
        lines = items(owner, bill["id"])
        assert [(item["amount"], item["tax"]) for item in lines] == [(8.64, 0.7), (2.16, 0.17), (-1, -0.08)]
        assert (bill["subtotal"], bill["tax"], bill["total"]) == (9.8, 0.79, 10.59)
        (untaxed,) = invoices(german)  # only countries that the operator lists pay tax
        assert (untaxed["subtotal"], untaxed["tax"], untaxed["total"]) == (0.54, 0, 0.54)
        assert [item["tax"] for item in items(german, untaxed["id"])] == [0]
        sandbox = german.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"})
        assert errors(sandbox) == [("promo_code", "promo_code is not valid")]  # nor is the server's own code good here
        books_are_in_order(cloud)
    finally:
        cloud.close()
