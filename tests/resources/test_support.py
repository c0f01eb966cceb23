"""Support tickets and replies, through HTTP."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from httpx2 import Client

from crofter.context import Context
from crofter.resources.support import staff as support_staff
from tests.cloud import Cloud
from tests.observed import actions, errors, mails
from tests.resources.stock import Stock

PATH = "/v4/support/tickets"
WORDS = {"summary": "Help", "description": "It does not work."}


def opened(client: Client, **more: Any) -> dict[str, Any]:
    answer = client.post(PATH, json={**WORDS, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def staff(cloud: Cloud, entry: Any, *words: Any, **more: Any) -> Any:
    """Do as the support staff does."""
    with cloud.runtime.database.write() as db:
        return entry(Context(cloud.runtime, db), *words, **more)


def restricted(cloud: Cloud, owner: Client, username: str = "bob", **grants: Any) -> Client:
    body = {"username": username, "email": f"{username}@example.com", "restricted": True}
    assert owner.post("/v4/account/users", json=body).status_code == 200
    if grants:
        assert owner.put(f"/v4/account/users/{username}/grants", json=grants).status_code == 200
    return cloud.client(cloud.token(username))


def instance(owner: Client, label: str) -> int:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": label}
    return int(owner.post("/v4/compute/instances", json=body).json()["id"])


@pytest.mark.both
def test_a_ticket_is_opened_and_seen(cloud: Cloud) -> None:
    alice = cloud.person(username="alice", email="Alice@Example.com")
    ticket = opened(alice)
    assert ticket == {
        "attachments": [],
        "closable": True,
        "closed": None,
        "description": "It does not work.",
        "entity": None,
        "gravatar_id": hashlib.md5(b"alice@example.com").hexdigest(),
        "id": 1,
        "opened": ticket["opened"],
        "opened_by": "alice",
        "status": "new",
        "summary": "Help",
        "updated": ticket["opened"],
        "updated_by": None,
    }
    assert alice.get(f"{PATH}/1").json() == ticket
    assert alice.get(PATH).json() == {"data": [ticket], "page": 1, "pages": 1, "results": 1}
    event = alice.get("/v4/account/events").json()["data"][0]
    assert (event["action"], event["username"]) == ("ticket_create", "alice")
    assert event["entity"] == {"id": 1, "label": "Help", "type": "ticket", "url": "/v4/support/tickets/1"}


def test_what_is_wrong_with_a_ticket_is_said_all_at_once(alice: Client) -> None:
    assert errors(alice.post(PATH, json={})) == [
        ("description", "description is required"),
        ("summary", "summary is required"),
    ]
    long = {"description": "d" * 65001, "summary": "s" * 65, "compute_id": "x", "managed_issue": 1, "vlan": 5}
    assert errors(alice.post(PATH, json=long)) == [
        ("description", "Length must be 1-65000 characters"),
        ("summary", "Length must be 1-64 characters"),
        ("compute_id", "Must be of type Integer"),
        ("managed_issue", "Must be of type Boolean"),
        ("region", "region is required"),
        ("vlan", "Must be of type String"),
    ]
    assert opened(alice, description="d" * 65000, summary="s" * 64)["summary"] == "s" * 64


def test_a_ticket_is_about_one_thing_at_most(alice: Client) -> None:
    refused = alice.post(PATH, json={**WORDS, "compute_id": 1, "volume_id": 2})
    assert errors(refused) == [(None, "Only one of compute_id, volume_id may be set")]
    assert alice.get(PATH).json()["results"] == 0
    assert actions(alice) == []


def test_a_ticket_names_the_thing_it_is_about(alice: Client) -> None:
    number = instance(alice, "web-1")
    assert opened(alice, compute_id=number)["entity"] == {
        "id": number,
        "label": "web-1",
        "type": "compute",
        "url": f"/v4/compute/instances/{number}",
    }


def test_a_ticket_names_what_other_resources_have(cloud: Cloud, alice: Client) -> None:
    stock = Stock(cloud, "alice")
    volume, balancer = stock.volume(None, "data"), stock.nodebalancer("host", "front")
    assert opened(alice, volume_id=volume)["entity"] == {
        "id": volume,
        "label": "data",
        "type": "volume",
        "url": f"/v4/volumes/{volume}",
    }
    assert opened(alice, nodebalancer_id=balancer)["entity"] == {
        "id": balancer,
        "label": "front",
        "type": "nodebalancer",
        "url": f"/v4/nodebalancers/{balancer}",
    }
    bob = restricted(cloud, alice, volume=[{"id": volume, "permissions": "read_only"}])
    assert [ticket["entity"]["type"] for ticket in bob.get(PATH).json()["data"]] == ["volume"]


@pytest.mark.parametrize(
    ("field", "title"),
    [
        ("compute_id", "Compute"),
        ("domain_id", "Domain"),
        ("lkecluster_id", "LKE Cluster"),
        ("longviewclient_id", "Longview Client"),
        ("nodebalancer_id", "NodeBalancer"),
        ("volume_id", "Volume"),
    ],
)
def test_a_ticket_about_a_thing_one_cannot_see_is_not_opened(alice: Client, field: str, title: str) -> None:
    refused = alice.post(PATH, json={**WORDS, field: 4711})
    assert refused.status_code == 403
    assert errors(refused) == [(field, f"You do not have permission to access this {title}")]


def test_a_ticket_about_somebody_elses_instance_is_not_opened(alice: Client, mallory: Client) -> None:
    number = instance(alice, "web-1")
    assert mallory.post(PATH, json={**WORDS, "compute_id": number}).status_code == 403
    assert mallory.get(PATH).json()["results"] == 0


def test_a_managed_issue_needs_managed_service_and_is_about_nothing_else(cloud: Cloud, alice: Client) -> None:
    refused = alice.post(PATH, json={**WORDS, "managed_issue": True})
    assert errors(refused) == [("managed_issue", "Managed service is not enabled on this account")]
    dora = cloud.person(username="dora", managed=True)
    assert opened(dora, managed_issue=True)["entity"] is None
    refused = dora.post(PATH, json={**WORDS, "managed_issue": True, "compute_id": instance(dora, "web")})
    assert errors(refused) == [("managed_issue", "compute_id must not be set for a managed issue")]


def test_a_vlan_and_its_region_come_together(alice: Client) -> None:
    assert errors(alice.post(PATH, json={**WORDS, "vlan": "net"})) == [("region", "region is required")]
    only = alice.post(PATH, json={**WORDS, "region": "us-east"})
    assert errors(only) == [("region", "region may only be set together with vlan")]
    nowhere = alice.post(PATH, json={**WORDS, "vlan": "net", "region": "nowhere"})
    assert errors(nowhere) == [("region", "region is not valid")]
    entity = opened(alice, vlan="net", region="us-east")["entity"]
    assert (entity["type"], entity["label"]) == ("vlan", "net")


def test_open_tickets_come_first_and_then_the_newest(alice: Client) -> None:
    for number in range(1, 5):
        opened(alice, summary=f"ticket {number}")
    for number in (4, 1):
        assert alice.post(f"{PATH}/{number}/close").json() == {}
    assert [ticket["id"] for ticket in alice.get(PATH).json()["data"]] == [3, 2, 4, 1]


def test_pages_of_tickets_have_bounds_of_their_own(alice: Client) -> None:
    for number in range(30):
        opened(alice, summary=f"ticket {number}")
    page = alice.get(PATH, params={"page": 2, "page_size": 25}).json()
    assert (len(page["data"]), page["page"], page["pages"], page["results"]) == (5, 2, 2, 30)
    for path in (PATH, f"{PATH}/1/replies"):
        for size in (24, 101, 0, -1):
            assert errors(alice.get(path, params={"page_size": size})) == [("page_size", "Must be 25-100")]
        assert errors(alice.get(path, params={"page_size": "x"})) == [("page_size", "Must be of type Integer")]


def test_tickets_are_filtered_by_status_and_dates_alone(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    first = opened(alice)
    cloud.advance(3600)
    opened(alice)
    alice.post(f"{PATH}/1/close")
    still_open = alice.get(PATH, headers={"X-Filter": '{"closed": null}'}).json()
    assert [ticket["id"] for ticket in still_open["data"]] == [2]
    later = alice.get(PATH, headers={"X-Filter": json.dumps({"opened": {"+gt": first["opened"]}})}).json()
    assert [ticket["id"] for ticket in later["data"]] == [2]
    for status, numbers in (("closed", [1]), ({"+or": ["new", "open"]}, [2])):
        page = alice.get(PATH, headers={"X-Filter": json.dumps({"status": status})}).json()
        assert [ticket["id"] for ticket in page["data"]] == numbers
    refused = alice.get(PATH, headers={"X-Filter": '{"opened_by": "alice", "summary": "x"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on opened_by"), ("X-Filter", "Cannot filter on summary")]


@pytest.mark.both
def test_a_ticket_is_replied_to(cloud: Cloud, alice: Client) -> None:
    opened(alice)
    reply = alice.post(f"{PATH}/1/replies", json={"description": "Still not."}).json()
    assert reply == {
        "created": reply["created"],
        "created_by": "alice",
        "description": "Still not.",
        "from_compute": False,
        "gravatar_id": hashlib.md5(b"alice@example.com").hexdigest(),
        "id": 1,
    }
    assert alice.get(f"{PATH}/1/replies").json() == {"data": [reply], "page": 1, "pages": 1, "results": 1}
    ticket = alice.get(f"{PATH}/1").json()
    assert (ticket["status"], ticket["updated_by"]) == ("new", "alice")
    assert actions(alice) == ["ticket_update", "ticket_create"]
    assert errors(alice.post(f"{PATH}/1/replies", json={})) == [("description", "description is required")]
    long = alice.post(f"{PATH}/1/replies", json={"description": "d" * 65536})
    assert errors(long) == [("description", "Length must be 1-65535 characters")]


def test_a_ticket_is_closed_once_and_then_stays_as_it_is(alice: Client) -> None:
    opened(alice)
    assert alice.post(f"{PATH}/1/close").json() == {}
    ticket = alice.get(f"{PATH}/1").json()
    assert (ticket["status"], ticket["closable"], ticket["updated_by"]) == ("closed", False, "alice")
    assert ticket["closed"] is not None
    for path, body, reason in (
        ("close", {}, "The ticket is closed already"),
        ("replies", {"description": "But!"}, "The ticket is closed"),
    ):
        refused = alice.post(f"{PATH}/1/{path}", json=body)
        assert (refused.status_code, errors(refused)) == (400, [(None, reason)])
    assert actions(alice) == ["ticket_update", "ticket_create"]


def test_the_staff_answers_and_the_customer_hears_of_it_by_mail(cloud: Cloud, alice: Client) -> None:
    opened(alice)
    staff(cloud, support_staff.answer, 1, "Have you tried turning it off and on again?")
    ticket = alice.get(f"{PATH}/1").json()
    assert (ticket["status"], ticket["updated_by"]) == ("open", support_staff.STAFF)
    (reply,) = alice.get(f"{PATH}/1/replies").json()["data"]
    assert (reply["from_compute"], reply["created_by"]) == (True, support_staff.STAFF)
    (mail,) = mails(cloud)
    assert mail["to"] == "alice@example.com"
    assert "turning it off" in mail["text"]
    assert actions(alice) == ["ticket_update", "ticket_create"]
    staff(cloud, support_staff.answer, 1, "So it was that.", close=True)
    assert alice.get(f"{PATH}/1").json()["status"] == "closed"


def test_what_the_staff_opens_only_the_staff_closes(cloud: Cloud) -> None:
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    number = staff(cloud, support_staff.account_of, account["euuid"])
    staff(
        cloud,
        support_staff.open_ticket,
        number,
        "Spam",
        "Your server sends spam.",
        by=support_staff.STAFF,
        nature="abuse",
    )
    ticket = alice.get(f"{PATH}/1").json()
    assert (ticket["closable"], ticket["status"], ticket["opened_by"]) == (False, "new", support_staff.STAFF)
    (notice,) = alice.get("/v4/account/notifications").json()["data"]
    assert (notice["type"], notice["severity"]) == ("ticket_abuse", "major")
    assert notice["entity"] == {"id": 1, "label": "Spam", "type": "ticket", "url": "/support/tickets/1"}
    refused = alice.post(f"{PATH}/1/close")
    assert (refused.status_code, errors(refused)) == (400, [(None, "This ticket can only be closed by support")])
    assert alice.post(f"{PATH}/1/replies", json={"description": "Stopped."}).status_code == 200
    assert alice.get(f"{PATH}/1").json()["status"] == "open"
    staff(cloud, support_staff.close, 1)
    assert alice.get(f"{PATH}/1").json()["status"] == "closed"
    assert alice.get("/v4/account/notifications").json()["data"] == []


def test_somebody_elses_ticket_is_not_there(alice: Client, mallory: Client) -> None:
    opened(alice)
    for method, path in (("GET", ""), ("GET", "/replies"), ("POST", "/replies"), ("POST", "/close")):
        answer = mallory.request(method, f"{PATH}/1{path}", json=None if method == "GET" else {})
        assert (answer.status_code, answer.json()) == (404, {"errors": [{"reason": "Not found"}]})
    assert mallory.get(PATH).json()["results"] == 0


def test_a_restricted_user_sees_its_own_tickets_and_those_about_what_it_sees(cloud: Cloud, alice: Client) -> None:
    seen, unseen = instance(alice, "web-1"), instance(alice, "web-2")
    bob = restricted(cloud, alice, compute=[{"id": seen, "permissions": "read_only"}])
    opened(alice)
    opened(alice, compute_id=seen)
    opened(alice, compute_id=unseen)
    own = opened(bob)
    assert own["opened_by"] == "bob"
    assert [ticket["id"] for ticket in bob.get(PATH).json()["data"]] == [own["id"], 2]
    for number, expected in ((1, 404), (2, 200), (3, 404), (4, 200)):
        assert bob.get(f"{PATH}/{number}").status_code == expected
        assert bob.get(f"{PATH}/{number}/replies").status_code == expected
    assert bob.post(f"{PATH}/2/replies", json={"description": "Me too."}).status_code == 200
    assert bob.post(f"{PATH}/3/close").status_code == 404
    assert bob.post(PATH, json={**WORDS, "compute_id": seen}).status_code == 200
    assert bob.post(PATH, json={**WORDS, "compute_id": unseen}).status_code == 403
    assert alice.get(f"{PATH}/2").json()["status"] == "open"


def test_a_restricted_user_sees_the_events_of_the_tickets_it_sees(cloud: Cloud, alice: Client) -> None:
    seen = instance(alice, "web-1")
    bob = restricted(cloud, alice, compute=[{"id": seen, "permissions": "read_only"}])
    opened(alice)
    opened(alice, compute_id=seen)
    opened(bob)
    staff(cloud, support_staff.answer, 1, "Not for bob.")
    staff(cloud, support_staff.answer, 3, "For bob.")
    events = bob.get("/v4/account/events", headers={"X-Filter": '{"entity.type": "ticket"}'}).json()["data"]
    assert [(event["action"], event["entity"]["id"]) for event in events] == [
        ("ticket_update", 3),
        ("ticket_create", 3),
        ("ticket_create", 2),
    ]
    everything = alice.get("/v4/account/events", headers={"X-Filter": '{"entity.type": "ticket"}'}).json()["data"]
    for event in everything:
        expected = 200 if event["entity"]["id"] in (2, 3) else 404
        assert bob.get(f"/v4/account/events/{event['id']}").status_code == expected


def test_tickets_need_the_scope_of_the_account(cloud: Cloud, alice: Client) -> None:
    reader = cloud.client(cloud.token("alice", "account:read_only"))
    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, json=WORDS).status_code == 403
    assert cloud.client(cloud.token("alice", "computes:read_write")).get(PATH).status_code == 403
    assert cloud.client(None).get(PATH).status_code == 401
