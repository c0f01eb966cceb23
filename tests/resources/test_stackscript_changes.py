"""Making, changing and deleting StackScripts, through HTTP."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.stock import Stock

PATH = "/v4/compute/stackscripts"
SCRIPT = """#!/bin/sh
# <UDF name="word" label="A word" example="hello" />
# <UDF name="color" label="A color" oneof="red,green" default="red" />
"""
NEW = {"label": "setup", "images": ["compute/debian11", "compute/debian12"], "script": SCRIPT}


def made(client: Client, **changes: Any) -> dict[str, Any]:
    answer = client.post(PATH, json={**NEW, **changes})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def actions(client: Client) -> list[str]:
    return [event["action"] for event in client.get("/v4/account/events").json()["data"]][::-1]


def ids(client: Client, **wanted: Any) -> list[int]:
    """Return the ids of scripts of accounts, without those of the catalogue."""
    headers = {"X-Filter": json.dumps(wanted)} if wanted else {}
    answer = client.get(PATH, headers=headers)
    assert answer.status_code == 200, answer.text
    return [script["id"] for script in answer.json()["data"] if script["username"] != "compute"]


@pytest.mark.both
def test_a_script_is_made_and_shown_with_what_it_asks_for(alice: Client) -> None:
    script = made(alice, description="sets up", rev_note="first")
    email = alice.get("/v4/profile").json()["email"]
    assert script["user_gravatar_id"] == hashlib.md5(email.encode(), usedforsecurity=False).hexdigest()
    assert (script["username"], script["mine"], script["is_public"]) == ("alice", True, False)
    assert (script["deployments_total"], script["deployments_active"]) == (0, 0)
    assert (script["description"], script["rev_note"], script["script"]) == ("sets up", "first", SCRIPT)
    assert script["user_defined_fields"] == [
        {"label": "A word", "name": "word", "example": "hello"},
        {"label": "A color", "name": "color", "example": "", "oneOf": "red,green", "default": "red"},
    ]
    assert alice.get(f"{PATH}/{script['id']}").json() == script
    assert alice.get(PATH).json()["data"][-1] == script
    assert actions(alice) == ["stackscript_create"]
    event = alice.get("/v4/account/events").json()["data"][0]
    assert event["status"] == "notification"
    assert event["entity"] == {
        "id": script["id"],
        "label": "setup",
        "type": "stackscript",
        "url": f"/v4/compute/stackscripts/{script['id']}",
    }


def test_all_that_is_wrong_with_a_script_is_said_at_once(alice: Client) -> None:
    refused = alice.post(PATH, json={"label": "ab", "images": ["compute/none"], "script": "echo"})
    assert errors(refused) == [
        ("label", "Length must be 3-128 characters"),
        ("images", "images is not valid"),
        ("script", "Must start with #!"),
    ]
    assert errors(alice.post(PATH, json={})) == [
        ("label", "label is required"),
        ("images", "images is required"),
        ("script", "script is required"),
    ]
    unreadable = alice.post(PATH, json={**NEW, "script": '#!/bin/sh\n# <UDF name="1" label="x" />'})
    assert [field for field, _ in errors(unreadable)] == ["script"]
    assert errors(alice.post(PATH, json={**NEW, "images": []})) == [("images", "Must have 1-200 items")]


def test_an_image_of_the_account_is_none_that_a_script_runs_on(cloud: Cloud, alice: Client) -> None:
    own = Stock(cloud, "alice").image()
    assert errors(alice.post(PATH, json={**NEW, "images": [f"private/{own}"]})) == [("images", "images is not valid")]
    assert made(alice, images=["any/all"])["images"] == ["any/all"]


def test_a_script_is_changed_revised_and_published(alice: Client) -> None:
    path = f"{PATH}/{made(alice)['id']}"
    assert alice.put(path, json={"label": "renamed"}).json()["label"] == "renamed"
    assert actions(alice)[1:] == ["stackscript_update"]
    revised = alice.put(path, json={"script": "#!/bin/sh\n", "rev_note": "smaller"}).json()
    assert (revised["user_defined_fields"], revised["rev_note"]) == ([], "smaller")
    assert actions(alice)[2:] == ["stackscript_update", "stackscript_revise"]
    assert alice.put(path, json={"is_public": True}).json()["is_public"] is True
    assert actions(alice)[4:] == ["stackscript_update", "stackscript_publicize"]
    back = alice.put(path, json={"is_public": False, "script": "no", "images": ["x"]})
    assert [field for field, _ in errors(back)] == ["images", "script", "is_public"]
    assert back.status_code == 400
    assert alice.put(path, json={"is_public": True}).status_code == 200


def test_a_script_is_deleted_unless_it_is_public(alice: Client) -> None:
    private, public = made(alice)["id"], made(alice, is_public=True)["id"]
    assert alice.delete(f"{PATH}/{private}").json() == {}
    assert alice.get(f"{PATH}/{private}").status_code == 404
    assert actions(alice)[-1] == "stackscript_delete"
    refused = alice.delete(f"{PATH}/{public}")
    assert (refused.status_code, errors(refused)) == (400, [(None, "A public StackScript cannot be deleted.")])
    assert alice.get(f"{PATH}/{public}").status_code == 200


def test_public_scripts_are_everybodys_to_read(cloud: Cloud, alice: Client, mallory: Client) -> None:
    private, public = made(alice)["id"], made(alice, is_public=True)["id"]
    own = made(mallory)["id"]
    assert ids(alice) == [private, public]
    assert ids(mallory) == [public, own]
    stranger = cloud.client(None)
    assert ids(stranger) == [public]
    for client in (mallory, stranger):
        assert client.get(f"{PATH}/{private}").status_code == 404
        assert client.get(f"{PATH}/{public}").json()["mine"] is False
    for answer in (mallory.put(f"{PATH}/{public}", json={"label": "taken"}), mallory.delete(f"{PATH}/{public}")):
        assert (answer.status_code, errors(answer)) == (403, [(None, "Unauthorized")])
    for answer in (mallory.put(f"{PATH}/{private}", json={"label": "taken"}), mallory.delete(f"{PATH}/{private}")):
        assert answer.status_code == 404


def test_a_token_without_the_scope_reads_what_is_public(cloud: Cloud, alice: Client) -> None:
    private, public = made(alice)["id"], made(alice, is_public=True)["id"]
    narrow = cloud.client(cloud.token("alice", "images:read_only"))
    assert ids(narrow) == [public]
    assert narrow.get(f"{PATH}/{public}").json()["mine"] is True
    assert narrow.get(f"{PATH}/{private}").status_code == 403
    assert ids(cloud.client(cloud.token("alice", "stackscripts:read_only"))) == [private, public]


def test_scripts_are_filtered(cloud: Cloud, alice: Client, mallory: Client) -> None:
    first, second = made(alice, label="web server", rev_note="one")["id"], made(alice, description="about mail")["id"]
    other = made(mallory, label="web of others", is_public=True)["id"]
    assert ids(alice, mine=True) == [first, second]
    assert ids(alice, mine=False) == [other]
    assert ids(alice, is_public=True) == [other]
    assert ids(alice, label={"+contains": "web"}) == [first, other]
    assert ids(alice, rev_note="one") == [first]
    assert ids(alice, description={"+contains": "mail"}) == [second]
    assert ids(alice, deployments_total=0) == [first, second, other]
    assert ids(alice, **{"+order_by": "deployments_total", "+order": "desc"}) != []
    refused = alice.get(PATH, headers={"X-Filter": '{"script": "x"}'})
    assert [reason for _, reason in errors(refused)] == ["Cannot filter on script"]
    nobody = cloud.client(None).get(PATH, headers={"X-Filter": '{"mine": true}'})
    assert nobody.status_code == 401
    assert errors(nobody) == [(None, "You must be authenticated to find your StackScripts.")]


def test_a_restricted_user_has_what_was_granted(cloud: Cloud, alice: Client) -> None:
    granted, other, public = made(alice)["id"], made(alice)["id"], made(alice, is_public=True)["id"]
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    grants = {"global": {"add_stackscripts": True}, "stackscript": [{"id": granted, "permissions": "read_only"}]}
    assert alice.put("/v4/account/users/bob/grants", json=grants).status_code == 200
    bob = cloud.client(cloud.token("bob"))
    assert ids(bob) == [granted, public]
    assert bob.get(f"{PATH}/{other}").status_code == 403
    assert bob.put(f"{PATH}/{granted}", json={"label": "mine"}).status_code == 403
    own = made(bob)["id"]
    assert bob.put(f"{PATH}/{own}", json={"label": "changed"}).status_code == 200
    assert bob.delete(f"{PATH}/{own}").status_code == 200
    alice.put("/v4/account/users/bob/grants", json={"global": {"add_stackscripts": False}})
    assert bob.post(PATH, json=NEW).status_code == 403


def test_deployments_of_several_accounts_are_added_up(cloud: Cloud, alice: Client, mallory: Client) -> None:
    script_id = made(alice, images=["any/all"], script="#!/bin/sh\n", is_public=True)["id"]
    body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian11", "root_pass": "a-long-Winding-r0ad"}
    instances = [
        client.post("/v4/compute/instances", json={**body, "stackscript_id": script_id}).json()["id"]
        for client in (alice, mallory, mallory)
    ]
    cloud.settle()
    shown = alice.get(f"{PATH}/{script_id}").json()
    assert (shown["deployments_total"], shown["deployments_active"]) == (3, 3)
    assert ids(alice, deployments_total=3) == [script_id]
    assert mallory.delete(f"/v4/compute/instances/{instances[1]}").status_code == 200
    cloud.settle()
    shown = alice.get(f"{PATH}/{script_id}").json()
    assert (shown["deployments_total"], shown["deployments_active"]) == (3, 2)


def test_an_account_has_a_thousand_scripts_at_most(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from crofter.resources.stackscripts import rules

    monkeypatch.setattr(rules, "MOST_SCRIPTS", 1)
    made(alice)
    assert alice.post(PATH, json=NEW).status_code == 400
