"""Notifications and maintenance, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter.context import Context
from crofter.kinds import Entity
from crofter.resources.support import staff
from tests.cloud import Cloud
from tests.resources.money import CARD, done, instance

FIELDS = {"body", "entity", "label", "message", "severity", "type", "until", "when"}
ROOT = "correct-horse-battery"


def notifications(client: Client) -> list[dict[str, Any]]:
    listed = done(client.get("/v4/account/notifications"))
    assert (listed["page"], listed["pages"]) == (1, 1)
    assert listed["results"] == len(listed["data"])
    assert all(set(notification) == FIELDS for notification in listed["data"])
    return list(listed["data"])


def kinds(client: Client) -> list[tuple[str, str]]:
    return [(notification["type"], notification["severity"]) for notification in notifications(client)]


def open_ticket(cloud: Cloud, nature: str, about: Entity | None = None) -> int:
    with cloud.runtime.database.write() as db:
        ctx = Context(cloud.runtime, db)
        account = db.raw("SELECT account_id FROM account_user WHERE username = 'alice'").fetchone()[0]
        return staff.open_ticket(
            ctx, account, f"About {nature}", "Read this.", by=staff.STAFF, nature=nature, about=about
        )


@pytest.fixture
def rita(cloud: Cloud, alice: Client) -> Client:
    """A user of alice's who may see nothing yet."""
    body = {"username": "rita", "email": "rita@example.com", "restricted": True}
    done(alice.post("/v4/account/users", json=body))
    return cloud.client(cloud.token("rita"))


def test_an_account_in_order_has_nothing_to_be_told(alice: Client) -> None:
    assert notifications(alice) == []


@pytest.mark.both
def test_a_debt_is_told_until_it_is_paid(cloud: Cloud) -> None:
    cloud.freeze()
    owner = cloud.person(username="carol", card="declined")
    instance(owner)
    cloud.advance(3600)
    assert owner.post("/v4/account/cancel").status_code == 409
    (due,) = notifications(owner)
    assert (due["type"], due["severity"], due["entity"]) == ("payment_due", "critical", None)
    done(owner.post("/v4/account/credit-card", json=CARD))
    done(owner.post("/v4/account/payments", json={"usd": "0.01"}))
    assert notifications(owner) == []


def test_a_region_that_is_out_is_told_until_it_is_back(cloud: Cloud, alice: Client) -> None:
    cloud.fault("region_outage", region="us-east")
    (outage,) = notifications(alice)
    assert (outage["type"], outage["severity"]) == ("outage", "major")
    assert outage["entity"] == {"id": "us-east", "label": "us-east", "type": "region", "url": "/regions/us-east"}
    cloud.fault("region_back", region="us-east")
    assert notifications(alice) == []


def test_a_pending_migration_is_told_until_it_was_made(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice, label="web-1", image="compute/debian12", root_pass=ROOT)
    cloud.settle()
    cloud.fault("migration_pending", compute_id=number)
    (pending,) = notifications(alice)
    assert (pending["type"], pending["severity"]) == ("migration_pending", "major")
    assert pending["entity"] == {
        "id": number,
        "label": "web-1",
        "type": "compute",
        "url": f"/compute/instances/{number}",
    }
    done(alice.post(f"/v4/compute/instances/{number}/migrate"))
    assert kinds(alice) == [("migration_pending", "major")]
    cloud.settle()
    assert notifications(alice) == []


def test_a_resize_is_a_pending_migration_while_it_lasts(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice, image="compute/debian12", root_pass=ROOT)
    cloud.settle()
    done(alice.post(f"/v4/compute/instances/{number}/resize", json={"type": "g6-standard-1"}))
    assert kinds(alice) == [("migration_pending", "major")]
    cloud.settle()
    assert notifications(alice) == []


def test_scheduled_maintenance_is_told(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    when = "2031-01-01T00:00:00"
    cloud.fault("maintenance", compute_id=number, type="reboot", when=when, reason="New kernel.")
    (notification,) = notifications(alice)
    assert (notification["type"], notification["severity"], notification["when"]) == ("maintenance", "critical", when)
    assert (notification["body"], notification["entity"]["id"]) == ("New kernel.", number)
    listed = done(alice.get("/v4beta/account/maintenance"))["data"]
    assert [
        (maintenance["type"], maintenance["status"], maintenance["when"], maintenance["reason"])
        for maintenance in listed
    ] == [("reboot", "pending", when, "New kernel.")]
    assert alice.get("/v4/account/maintenance").status_code == 404


def test_urgent_tickets_are_told_until_they_are_closed(cloud: Cloud, alice: Client) -> None:
    important, abuse = open_ticket(cloud, "important"), open_ticket(cloud, "abuse")
    assert kinds(alice) == [("ticket_important", "major"), ("ticket_abuse", "major")]
    entity = notifications(alice)[0]["entity"]
    assert entity == {
        "id": important,
        "label": "About important",
        "type": "ticket",
        "url": f"/support/tickets/{important}",
    }
    with cloud.runtime.database.write() as db:
        staff.close(Context(cloud.runtime, db), abuse)
    assert kinds(alice) == [("ticket_important", "major")]


def test_nobody_is_told_of_other_accounts(cloud: Cloud, alice: Client, mallory: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    cloud.fault("migration_pending", compute_id=number)
    open_ticket(cloud, "abuse")
    assert len(notifications(alice)) == 2
    assert notifications(mallory) == []


def test_restricted_users_are_told_of_what_they_may_see(cloud: Cloud, alice: Client, rita: Client) -> None:
    cloud.freeze()
    seen, unseen = instance(alice), instance(alice)
    for number in (seen, unseen):
        cloud.fault("migration_pending", compute_id=number)
        cloud.fault("maintenance", compute_id=number, type="reboot", when="2031-01-01T00:00:00", reason="x")
        open_ticket(cloud, "important", Entity("compute", number, "web", f"/v4/compute/instances/{number}"))
    open_ticket(cloud, "abuse")
    with cloud.runtime.database.write() as db:
        account = db.raw("SELECT account_id FROM account_user WHERE username = 'alice'").fetchone()[0]
        for book, amount in (("owed", 1), ("revenue", -1)):
            db.raw(
                "INSERT INTO ledger (account_id, entry, book, amount, at)"
                f" VALUES ({account}, 'invoice:0', '{book}', {amount * 10000}, '2026-01-01T00:00:00')"
            )
    assert notifications(rita) == []
    done(alice.put("/v4/account/users/rita/grants", json={"compute": [{"id": seen, "permissions": "read_only"}]}))
    assert [notification["type"] for notification in notifications(rita)] == [
        "maintenance",
        "ticket_important",
        "migration_pending",
    ]
    done(alice.put("/v4/account/users/rita/grants", json={"global": {"account_access": "read_only"}}))
    assert notifications(rita)[0]["type"] == "payment_due"
    assert len(notifications(alice)) == 8
