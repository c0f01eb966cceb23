"""Deploying StackScripts, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter.resources.users.store import grant, user
from tests.cloud import Cloud

SCRIPT = """#!/bin/sh
# <UDF name="word" label="A word" />
# <UDF name="color" label="A color" oneof="red,green" default="red" />
echo "$word"
"""
NEW = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian11", "root_pass": "a-long-Winding-r0ad"}
INVALID = [{"field": "stackscript_id", "reason": "stackscript_id is an invalid stackscript"}]


def script_of(owner: Client, **changes: Any) -> int:
    """A script of the user's account."""
    body = {"label": "hello", "images": ["compute/debian11"], "script": SCRIPT, **changes}
    made = owner.post("/v4/compute/stackscripts", json=body)
    assert made.status_code == 200, made.text
    return int(made.json()["id"])


def deploy(client: Client, script_id: int, data: dict[str, Any] | None = None, **changes: Any) -> Any:
    sent = {**NEW, "stackscript_id": script_id, "stackscript_data": data or {}, **changes}
    return client.post("/v4/compute/instances", json={name: value for name, value in sent.items() if value is not None})


@pytest.mark.both
def test_a_script_is_deployed_with_its_data_and_counted(cloud: Cloud, alice: Client) -> None:
    script_id = script_of(alice)
    made = deploy(alice, script_id, {"word": "hi"})
    assert made.status_code == 200, made.text
    cloud.settle()
    path = f"/v4/compute/instances/{made.json()['id']}"
    assert alice.get(path).json()["status"] == "running"
    assert deployments(alice, script_id) == (1, 1)
    again = {"image": NEW["image"], "root_pass": NEW["root_pass"]}
    with_script = {**again, "stackscript_id": script_id, "stackscript_data": {"word": "hi"}}
    for body, expected in ((with_script, (2, 1)), (again, (2, 0)), (with_script, (3, 1))):
        assert alice.post(f"{path}/rebuild", json=body).status_code == 200
        cloud.settle()
        assert deployments(alice, script_id) == expected
    assert alice.delete(path).status_code == 200
    cloud.settle()
    assert deployments(alice, script_id) == (3, 0)


def test_a_disk_that_is_deployed_with_a_script_is_counted(cloud: Cloud, alice: Client) -> None:
    first, second = script_of(alice), script_of(alice)
    empty = alice.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1"}).json()
    path = f"/v4/compute/instances/{empty['id']}"
    body = {"size": 5000, "image": NEW["image"], "root_pass": NEW["root_pass"], "stackscript_data": {"word": "hi"}}
    for script_id in (first, second):
        made = alice.post(f"{path}/disks", json={**body, "stackscript_id": script_id})
        assert made.status_code == 200, made.text
        cloud.settle()
        assert deployments(alice, script_id) == (1, 1)
    assert deployments(alice, first) == (1, 0)  # the instance was last deployed with the other one
    cloud.sandbox.put("/_sandbox/transitions", json={"disk_create": {"fail": "no"}})
    assert alice.post(f"{path}/disks", json={**body, "stackscript_id": first}).status_code == 200
    cloud.settle()
    assert (deployments(alice, first), deployments(alice, second)) == ((2, 0), (1, 1))
    assert alice.delete(path).status_code == 200
    cloud.settle()
    assert deployments(alice, second) == (1, 0)


def deployments(client: Client, script_id: int) -> tuple[int, int]:
    """How often it was deployed, and how many of those instances there are."""
    shown = client.get(f"/v4/compute/stackscripts/{script_id}").json()
    return shown["deployments_total"], shown["deployments_active"]


def test_data_is_checked_against_what_the_script_asks_for(cloud: Cloud, alice: Client) -> None:
    refused = deploy(alice, script_of(alice), {"color": "blue"})
    assert refused.status_code == 400
    assert refused.json()["errors"] == [
        {"field": "stackscript_data.word", "reason": "word is required"},
        {"field": "stackscript_data.color", "reason": "Must be one of red, green"},
    ]
    assert alice.get("/v4/compute/instances").json()["results"] == 0


@pytest.mark.parametrize(("listed", "status"), [(["compute/debian12"], 400), (["any/all"], 200)])
def test_a_script_runs_on_the_images_that_it_lists(cloud: Cloud, alice: Client, listed: list[str], status: int) -> None:
    answer = deploy(alice, script_of(alice, images=listed), {"word": "hi"})
    assert answer.status_code == status, answer.text
    if status == 400:
        assert answer.json()["errors"] == [
            {"reason": "The requested distribution is not supported by this stackscript."}
        ]


def test_a_script_needs_an_image(cloud: Cloud, alice: Client) -> None:
    refused = deploy(alice, script_of(alice), {"word": "hi"}, image=None)
    assert refused.status_code == 400
    assert refused.json()["errors"] == [{"field": "image", "reason": "image is required"}]


def test_a_script_that_is_not_there_is_invalid(alice: Client) -> None:
    refused = deploy(alice, 4711)
    assert refused.status_code == 400
    assert refused.json()["errors"] == INVALID


def test_somebody_elses_script_can_be_deployed_when_it_is_public_only(
    cloud: Cloud, alice: Client, mallory: Client
) -> None:
    private, public = script_of(alice), script_of(alice, is_public=True)
    assert deploy(mallory, private, {"word": "hi"}).json()["errors"] == INVALID
    assert deploy(mallory, public, {"word": "hi"}).status_code == 200


def test_a_restricted_user_needs_a_grant_on_an_own_script(cloud: Cloud, alice: Client) -> None:
    granted, other, public = (script_of(alice, is_public=public) for public in (False, False, True))
    with cloud.runtime.database.write() as db:
        user_id = db.raw("SELECT id FROM account_user WHERE username = 'alice'").fetchone()[0]
        db.update(user, {"id": user_id}, restricted=True, global_grants={"add_computes": True})
        db.insert(grant, user_id=user_id, kind="stackscript", object_id=granted, level="read_only")
    assert deploy(alice, granted, {"word": "hi"}).status_code == 200
    assert deploy(alice, public, {"word": "hi"}).status_code == 200
    refused = deploy(alice, other, {"word": "hi"})
    assert refused.status_code == 403
    assert refused.json()["errors"] == [
        {"field": "stackscript_id", "reason": "You do not have permission to access this StackScript"}
    ]
