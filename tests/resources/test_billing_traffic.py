"""Traffic: whose it is when instances come and go, and that none of it is counted twice or forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.money import done, instance, invoices, items, rows, stand_at, until

IMAGE = {"image": "compute/debian12", "root_pass": "correct-horse-battery"}


@pytest.fixture
def stingy(tmp_path: Path) -> Iterator[Cloud]:
    """A cloud whose smallest plan gives next to no traffic."""
    text = (Path(__file__).parents[2] / "src/crofter/catalogue/types.toml").read_text()
    (tmp_path / "types.toml").write_text(text.replace("transfer = 1000\n", "transfer = 1\n"))
    cloud = Cloud(catalogue=str(tmp_path))
    stand_at(cloud, "2027-03-01T00:00:00")
    yield cloud
    cloud.close()


def used(client: Client) -> int:
    return int(done(client.get("/v4/account/transfer"))["used"])


def hand_over(cloud: Cloud, number: int, sender: Client, receiver: Client) -> None:
    token = done(sender.post("/v4/account/service-transfers", json={"entities": {"computes": [number]}}))["token"]
    done(receiver.post(f"/v4/account/service-transfers/{token}/accept"))
    cloud.settle()


def test_an_instance_that_comes_back_brings_nobody_elses_traffic(stingy: Cloud) -> None:
    alice, bob = stingy.person(username="alice"), stingy.person(username="bob-receives")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-08T00:00:00")
    of_a_week = used(alice)
    assert of_a_week > 5
    hand_over(stingy, number, alice, bob)
    until(stingy, "2027-03-15T00:00:00")
    assert abs(used(bob) - of_a_week) <= 2
    hand_over(stingy, number, bob, alice)
    assert abs(used(alice) - of_a_week) <= 2
    until(stingy, "2027-03-22T00:00:00")
    assert abs(used(alice) - 2 * of_a_week) <= 3
    assert abs(used(bob) - of_a_week) <= 2


def test_what_could_not_be_deleted_is_not_counted_twice(stingy: Cloud) -> None:
    alice = stingy.person(username="alice")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-08T00:00:00")
    before = used(alice)
    stingy.sandbox.put("/_sandbox/transitions", json={"compute_delete": {"fail": "no"}})
    done(alice.delete(f"/v4/compute/instances/{number}"))
    stingy.settle()
    assert done(alice.get(f"/v4/compute/instances/{number}"))["status"] == "running"
    assert used(alice) == before
    assert rows(stingy, "SELECT 1 FROM traffic") == []


def test_traffic_is_billed_at_the_end_of_the_month_even_if_nothing_else_is_left_to_bill(stingy: Cloud) -> None:
    alice = stingy.person(username="alice")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-20T00:00:00")
    done(alice.delete(f"/v4/compute/instances/{number}"))
    stingy.settle()
    with stingy.runtime.database.write() as db:
        db.raw("UPDATE meter SET billed_until = ended")  # as an invoice in the middle of the month leaves the rows
    over = done(alice.get("/v4/account/transfer"))["billable"]
    assert over > 10
    until(stingy, "2027-04-01T00:00:10")
    lines = items(alice, invoices(alice)[-1]["id"])
    assert [(line["type"], line["quantity"]) for line in lines] == [("misc", over)]
    assert done(alice.get("/v4/account/transfer")) == {"billable": 0, "quota": 0, "used": 0}


def test_a_host_that_does_not_answer_is_waited_for_before_its_traffic_is_billed(stingy: Cloud) -> None:
    alice = stingy.person(username="alice")
    instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-31T23:50:00")
    over = done(alice.get("/v4/account/transfer"))["billable"]
    assert over > 10
    stingy.fault("region_outage", region="us-east")
    until(stingy, "2027-04-01T02:00:00")
    assert invoices(alice) == []
    stingy.fault("region_back", region="us-east")
    until(stingy, "2027-04-01T03:00:00")
    (bill,) = invoices(alice)
    assert bill["date"] == "2027-04-01T00:00:00"
    assert items(alice, bill["id"])[-1]["quantity"] in (over, over + 1)


def test_what_is_never_heard_of_is_not_waited_for_without_end(stingy: Cloud) -> None:
    alice, bob = stingy.person(username="alice"), stingy.person(username="bob-receives")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-31T12:00:00")
    stingy.fault("region_outage", region="us-east")
    hand_over(stingy, number, alice, bob)
    until(stingy, "2027-03-31T16:00:00")
    assert done(bob.get(f"/v4/compute/instances/{number}"))["id"] == number
    until(stingy, "2027-04-02T00:10:00")
    for owner in (alice, bob):
        assert [line["type"] for line in items(owner, invoices(owner)[0]["id"])] == ["hourly"]


def overage(client: Client) -> list[tuple[str, int]]:
    """The traffic that was billed: the date of each invoice that has any, and how much."""
    bills = [(invoice["date"], items(client, invoice["id"])) for invoice in invoices(client)]
    return sorted((date, line["quantity"]) for date, lines in bills for line in lines if line["type"] == "misc")


def test_what_is_handed_over_after_the_month_was_used_in_the_month(stingy: Cloud) -> None:
    """Counted before the month's end, and busy until after it."""
    alice, bob = stingy.person(username="alice"), stingy.person(username="bob-receives")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-31T23:00:00")
    over = done(alice.get("/v4/account/transfer"))["billable"]
    stingy.sandbox.put("/_sandbox/transitions", json={"compute_reboot": {"seconds": 2 * 3600}})
    url = "/v4/account/service-transfers"
    token = done(alice.post(url, json={"entities": {"computes": [number]}}))["token"]
    done(bob.post(f"{url}/{token}/accept"))
    done(alice.post(f"/v4/compute/instances/{number}/reboot"))
    until(stingy, "2027-04-01T03:00:00")
    assert done(bob.get(f"/v4/compute/instances/{number}"))["id"] == number
    until(stingy, "2027-05-01T03:00:00")
    ((date, billed),) = overage(alice)
    assert date == "2027-04-01T00:00:00"
    assert over <= billed <= over + 2
    assert used(alice) == 0


def test_a_host_that_is_silent_makes_only_its_own_traffic_free(stingy: Cloud) -> None:
    alice, bob = stingy.person(username="alice"), stingy.person(username="bob-receives")
    here, there = instance(alice, **IMAGE), instance(alice, region="us-west", **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-20T00:00:00")
    both = used(alice)
    stingy.fault("region_outage", region="us-west")
    known = used(alice)
    assert 0 < known < both
    url = "/v4/account/service-transfers"
    token = done(alice.post(url, json={"entities": {"computes": [here, there]}}))["token"]
    done(bob.post(f"{url}/{token}/accept"))
    until(stingy, "2027-03-20T05:00:00")
    assert done(bob.get("/v4/compute/instances"))["results"] == 2
    assert known <= used(alice) < both  # some hours later for the reachable one


def test_what_was_deleted_before_the_month_ended_is_billed_with_it(stingy: Cloud) -> None:
    """Its host is silent until the month is over, so that it is still there."""
    alice = stingy.person(username="alice")
    number = instance(alice, **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-31T20:00:00")
    over = done(alice.get("/v4/account/transfer"))["billable"]
    stingy.fault("region_outage", region="us-east")
    done(alice.delete(f"/v4/compute/instances/{number}"))
    until(stingy, "2027-04-01T02:00:00")
    assert done(alice.get(f"/v4/compute/instances/{number}"))["status"] == "deleting"
    stingy.fault("region_back", region="us-east")
    until(stingy, "2027-05-01T03:00:00")
    assert alice.get(f"/v4/compute/instances/{number}").status_code == 404
    ((date, billed),) = overage(alice)
    assert (date, billed) in (("2027-04-01T00:00:00", over), ("2027-04-01T00:00:00", over + 1))


def test_a_closed_account_is_not_looked_at_for_ever(stingy: Cloud) -> None:
    alice = stingy.person(username="alice")
    instance(alice)
    until(stingy, "2027-03-30T00:00:00")  # the month is paid for by now: its last hours are free
    done(alice.post("/v4/account/cancel", json={}))
    until(stingy, "2027-04-02T00:00:00")
    unbilled = "SELECT 1 FROM meter WHERE ended IS NULL OR billed_until < ended"
    assert rows(stingy, unbilled) == []


def used_in_two_regions(stingy: Cloud, owner: Client) -> int:
    """Return the traffic of two instances, one of them in us-west, beyond their plans at the end of the month."""
    instance(owner, **IMAGE)
    instance(owner, region="us-west", **IMAGE)
    stingy.settle()
    until(stingy, "2027-03-31T23:59:00")
    return int(done(owner.get("/v4/account/transfer"))["billable"])


@pytest.mark.parametrize("answers", [True, False], ids=["a host that answers again", "a host that is silent"])
def test_who_cancels_while_the_months_invoice_waits_pays_what_is_known(stingy: Cloud, answers: bool) -> None:
    alice = stingy.person(username="alice")
    both = used_in_two_regions(stingy, alice)
    stingy.fault("region_outage", region="us-west")
    known = done(alice.get("/v4/account/transfer"))["billable"]
    assert 0 < known < both
    until(stingy, "2027-04-01T02:00:00")
    assert invoices(alice) == []
    if answers:
        stingy.fault("region_back", region="us-west")
    done(alice.post("/v4/account/cancel", json={}))
    until(stingy, "2027-04-03T00:00:00")
    sql = (
        "SELECT i.date, t.quantity FROM invoice i JOIN invoice_item t ON t.invoice_id = i.id WHERE t.what = 'transfer'"
    )
    ((date, billed),) = rows(stingy, sql)
    assert date == "2027-04-01T00:00:00"
    assert billed - (both if answers else known) in (0, 1)
    assert rows(stingy, "SELECT sum(amount) FROM ledger WHERE book = 'owed'") == [(0,)]


def test_who_cannot_cancel_is_billed_the_rest_of_the_month_later_and_nothing_twice(stingy: Cloud) -> None:
    carol = stingy.person(username="carol", card="declined")
    both = used_in_two_regions(stingy, carol)
    stingy.fault("region_outage", region="us-west")
    until(stingy, "2027-04-01T02:00:00")
    assert carol.post("/v4/account/cancel", json={}).status_code == 409
    ((_, known),) = overage(carol)
    assert 0 < known < both
    assert carol.post("/v4/account/cancel", json={}).status_code == 409
    assert overage(carol) == [("2027-04-01T00:00:00", known)]
    stingy.fault("region_back", region="us-west")
    until(stingy, "2027-04-01T03:00:00")
    assert sum(billed for _, billed in overage(carol)) - both in (0, 1)
