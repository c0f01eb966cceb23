"""Longview, through HTTP: clients, the plan, and what it costs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.money import books_are_in_order, invoices, items, rows, stand_at, until

CLIENTS, PLAN = "/v4/longview/clients", "/v4/longview/plan"
SUBSCRIPTIONS = "/v4/longview/subscriptions"
NAME = re.compile("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
PACK = {
    "clients_included": 10,
    "id": "longview-10",
    "label": "Longview Pro 10 pack",
    "price": {"hourly": 0.06, "monthly": 40},
}


def made(client: Client, **body: Any) -> dict[str, Any]:
    answer = client.post(CLIENTS, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def actions(client: Client) -> list[str]:
    return [event["action"] for event in client.get("/v4/account/events").json()["data"]]


def restricted(cloud: Cloud, owner: Client, **grants: Any) -> Client:
    assert owner.post("/v4/account/users", json={"username": "bob", "email": "b@example.com"}).status_code == 200
    answer = owner.put("/v4/account/users/bob/grants", json=grants)
    assert answer.status_code == 200, answer.text
    return cloud.client(cloud.token("bob"))


# ---- clients --------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_client_is_created_viewed_renamed_and_deleted(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    client = made(alice, label="web-1")
    assert list(client) == ["api_key", "apps", "created", "id", "install_code", "label", "updated"]
    assert client["apps"] == {"apache": False, "mysql": False, "nginx": False}
    assert NAME.fullmatch(client["api_key"])
    assert NAME.fullmatch(client["install_code"])
    assert client["api_key"] != client["install_code"]
    path = f"{CLIENTS}/{client['id']}"
    assert alice.get(path).json() == client
    cloud.advance(60)
    renamed = alice.put(path, json={"label": "web_2"}).json()
    assert renamed["label"] == "web_2"
    assert renamed["updated"] > renamed["created"] == client["created"]
    assert alice.get(path).json() == client | {"label": "web_2", "updated": renamed["updated"]}
    assert alice.put(path, json={}).json() == renamed
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == 404
    assert alice.get(CLIENTS).json()["results"] == 0


def test_lists_show_what_views_show_but_for_the_keys(alice: Client) -> None:
    clients = [made(alice, label="one"), made(alice, label="two")]
    masked = {"api_key": "<REDACTED>", "install_code": "<REDACTED>"}
    assert alice.get(CLIENTS).json()["data"] == [client | masked for client in clients]
    assert alice.put(f"{CLIENTS}/{clients[0]['id']}", json={}).json() == clients[0] | masked


def test_what_agents_sign_in_with_is_not_in_the_database(cloud: Cloud, alice: Client) -> None:
    client = made(alice)
    ((key, code),) = rows(cloud, "SELECT api_key, install_code FROM longview_client")
    assert client["api_key"].encode() not in bytes(key)
    assert client["install_code"].encode() not in bytes(code)


def test_a_client_needs_no_label(alice: Client) -> None:
    assert made(alice, label="longview2")["label"] == "longview2"
    assert [made(alice)["label"], made(alice)["label"]] == ["longview1", "longview3"]


def test_labels_are_checked_and_unique_in_their_account(alice: Client, mallory: Client) -> None:
    path = f"{CLIENTS}/{made(alice, label='one')['id']}"
    made(alice, label="two")
    made(mallory, label="one")
    taken = [("label", "Label must be unique among your Longview Clients")]
    assert errors(alice.post(CLIENTS, json={"label": "one"})) == taken
    assert errors(alice.put(path, json={"label": "two"})) == taken
    assert alice.put(path, json={"label": "one"}).status_code == 200
    for label, reason in (
        ("ab", "Length must be 3-32 characters"),
        ("a" * 33, "Length must be 3-32 characters"),
        ("with space", "Must only use ASCII letters, numbers, dashes and underscores"),
        (7, "Must be of type String"),
    ):
        for refused in (alice.post(CLIENTS, json={"label": label}), alice.put(path, json={"label": label})):
            assert refused.status_code == 400
            assert errors(refused) == [("label", reason)]


def test_each_change_leaves_its_event(alice: Client) -> None:
    client = made(alice, label="web")
    path = f"{CLIENTS}/{client['id']}"
    alice.put(path, json={"label": "site"})
    alice.delete(path)
    events = alice.get("/v4/account/events").json()["data"]
    assert [event["action"] for event in events] == [
        *("longviewclient_delete", "longviewclient_update", "longviewclient_create")
    ]
    assert events[0]["entity"] == {"id": client["id"], "label": "site", "type": "longview", "url": path}
    assert {event["status"] for event in events} == {"notification"}


def test_clients_are_filtered_and_paged(alice: Client) -> None:
    for number in range(3):
        made(alice, label=f"web-{number}")
    filtered = alice.get(CLIENTS, headers={"X-Filter": '{"label": "WEB-1"}'}).json()
    assert [client["label"] for client in filtered["data"]] == ["web-1"]
    page = alice.get(CLIENTS, params={"page": 2, "page_size": 2}).json()
    assert ([client["label"] for client in page["data"]], page["results"]) == (["web-2"], 3)
    assert alice.get(CLIENTS, headers={"X-Filter": '{"api_key": "x"}'}).status_code == 400


def test_somebody_elses_client_is_not_there(alice: Client, mallory: Client) -> None:
    path = f"{CLIENTS}/{made(alice)['id']}"
    for method in ("GET", "PUT", "DELETE"):
        assert mallory.request(method, path, json=None if method == "GET" else {}).status_code == 404
    assert mallory.get(CLIENTS).json()["results"] == 0


def test_a_restricted_user_sees_what_is_granted(cloud: Cloud, alice: Client) -> None:
    seen, hidden = made(alice, label="seen"), made(alice, label="hidden")
    bob = restricted(cloud, alice, longview=[{"id": seen["id"], "permissions": "read_only"}])
    assert [client["label"] for client in bob.get(CLIENTS).json()["data"]] == ["seen"]
    assert bob.get(f"{CLIENTS}/{seen['id']}").json() == seen
    for refused in (
        bob.get(f"{CLIENTS}/{hidden['id']}"),
        bob.put(f"{CLIENTS}/{seen['id']}", json={}),
        bob.delete(f"{CLIENTS}/{seen['id']}"),
        bob.post(CLIENTS, json={}),
    ):
        assert refused.status_code == 403
        assert errors(refused) == [(None, "Unauthorized")]


def test_who_creates_a_client_may_do_everything_with_it(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, alice, **{"global": {"add_longview": True}})
    client = made(bob, label="mine")
    grant = {"id": client["id"], "label": "mine", "permissions": "read_write"}
    assert bob.get("/v4/profile/grants").json()["longview"] == [grant]
    assert bob.delete(f"{CLIENTS}/{client['id']}").status_code == 200
    assert rows(cloud, "SELECT 1 FROM user_grant WHERE kind = 'longview'") == []


def test_a_ticket_is_about_a_client(alice: Client) -> None:
    client = made(alice, label="web")
    words = {"summary": "Help", "description": "No data."}
    ticket = alice.post("/v4/support/tickets", json={**words, "longviewclient_id": client["id"]}).json()
    assert ticket["entity"] == {
        "id": client["id"],
        "label": "web",
        "type": "longview",
        "url": f"{CLIENTS}/{client['id']}",
    }


def test_a_closed_account_leaves_no_client(cloud: Cloud, alice: Client) -> None:
    made(alice)
    assert alice.put(PLAN, json={"longview_subscription": "longview-3"}).status_code == 200
    assert alice.post("/v4/account/cancel", json={}).status_code == 200
    cloud.settle()
    assert rows(cloud, "SELECT 1 FROM longview_client") == []
    assert rows(cloud, "SELECT 1 FROM meter WHERE ended IS NULL") == []


# ---- the plan -------------------------------------------------------------------------------------------------------


def test_everybody_sees_the_subscriptions(cloud: Cloud) -> None:
    stranger = cloud.client(None)
    listed = stranger.get(SUBSCRIPTIONS).json()
    assert [
        (subscription["id"], subscription["clients_included"], subscription["price"]["monthly"])
        for subscription in listed["data"]
    ] == [*(("longview-3", 3, 20), ("longview-10", 10, 40), ("longview-40", 40, 100), ("longview-100", 100, 200))]
    assert listed["results"] == 4
    assert stranger.get(f"{SUBSCRIPTIONS}/longview-10").json() == PACK
    assert stranger.get(f"{SUBSCRIPTIONS}/longview-7").status_code == 404


@pytest.mark.both
def test_the_plan_is_changed_and_given_up(alice: Client) -> None:
    assert alice.get(PLAN).json() == {}
    assert alice.put(PLAN, json={"longview_subscription": "longview-10"}).json() == PACK
    assert alice.get(PLAN).json() == PACK
    assert alice.get("/v4/account/settings").json()["longview_subscription"] == "longview-10"
    assert alice.put(PLAN, json={}).json() == PACK
    assert alice.put(PLAN, json={"longview_subscription": None}).json() == {}
    assert alice.get(PLAN).json() == {}
    assert alice.get("/v4/account/settings").json()["longview_subscription"] is None
    assert actions(alice) == ["account_settings_update"] * 3


def test_an_unknown_plan_is_refused(alice: Client) -> None:
    refused = alice.put(PLAN, json={"longview_subscription": "longview-7"})
    assert refused.status_code == 400
    assert [field for field, _ in errors(refused)] == ["longview_subscription"]


def test_a_plan_says_how_many_clients_there_may_be(alice: Client) -> None:
    for _ in range(10):
        made(alice)
    refused = alice.post(CLIENTS, json={})
    assert refused.status_code == 400
    assert errors(refused) == [(None, "Your Longview plan includes 10 clients. Change the plan to add more.")]
    assert alice.put(PLAN, json={"longview_subscription": "longview-40"}).status_code == 200
    last = made(alice)
    for plan in (None, "longview-10"):
        refused = alice.put(PLAN, json={"longview_subscription": plan})
        assert refused.status_code == 400
        reason = "This plan includes 10 clients, and you have 11. Delete some first."
        assert errors(refused) == [("longview_subscription", reason)]
    alice.delete(f"{CLIENTS}/{last['id']}")
    assert alice.put(PLAN, json={"longview_subscription": None}).status_code == 200


def test_changing_the_plan_needs_its_grant(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, alice, **{"global": {"add_longview": True, "account_access": "read_write"}})
    assert bob.get(PLAN).json() == {}
    assert bob.put(PLAN, json={"longview_subscription": "longview-3"}).status_code == 403
    alice.put("/v4/account/users/bob/grants", json={"global": {"longview_subscription": True}})
    assert bob.put(PLAN, json={"longview_subscription": "longview-3"}).status_code == 200


def test_scopes_are_needed(cloud: Cloud, alice: Client) -> None:
    reader = cloud.client(cloud.token("alice", "longview:read_only"))
    assert reader.get(PLAN).status_code == reader.get(CLIENTS).status_code == 200
    assert reader.post(CLIENTS, json={}).status_code == 403
    assert cloud.client(cloud.token("alice", "account:read_write")).get(CLIENTS).status_code == 403


@pytest.mark.both
def test_the_plan_is_billed_by_the_month(cloud: Cloud) -> None:
    stand_at(cloud, "2026-03-01T00:00:00")
    alice = cloud.person(username="alice")
    alice.put(PLAN, json={"longview_subscription": "longview-10"})
    until(cloud, "2026-03-31T00:00:00")
    alice.put(PLAN, json={"longview_subscription": "longview-40"})
    until(cloud, "2026-04-01T10:00:00")
    alice.put(PLAN, json={"longview_subscription": None})
    until(cloud, "2026-05-02T00:00:00")
    march, april = invoices(alice)
    # The cap of the cheaper plan was reached; a day of the dearer one comes on top, within the cap of that.
    assert [(item["label"], item["amount"]) for item in items(alice, march["id"])] == [
        ("Longview - Longview Pro 10 pack (longview-10)", 40.0),
        ("Longview - Longview Pro 40 pack (longview-40)", 3.6),
    ]
    assert [item["amount"] for item in items(alice, april["id"])] == [1.5]
    books_are_in_order(cloud)


def test_a_plan_that_is_only_planned_says_what_it_would_cost(alice: Client) -> None:
    planned = alice.put(PLAN, json={"longview_subscription": "longview-10"}, headers={"Prefer": "plan"}).json()
    assert "40" in str(planned)
    assert alice.get(PLAN).json() == {}
