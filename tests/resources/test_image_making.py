"""Images of accounts: from disks, changed, deployed, deleted; through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter.resources.instances import sweeping
from crofter.resources.instances.capture import rules
from tests.cloud import Cloud
from tests.observed import errors
from tests.sweep import violations

INSTANCE = {"type": "g6-nanode-1", "region": "us-east"}
PASSWORD = "a-long-Winding-r0ad"


@pytest.fixture
def disk(cloud: Cloud, alice: Client) -> dict[str, Any]:
    """A small disk of an instance that is off, and the path of the instance."""
    instance = alice.post("/v4/compute/instances", json={**INSTANCE, "label": "web"}).json()
    path = f"/v4/compute/instances/{instance['id']}"
    made = alice.post(f"{path}/disks", json={"size": 2000, "label": "gold"}).json()
    cloud.settle()
    return {"id": made["id"], "path": path, "instance": instance["id"]}


def events(client: Client) -> list[dict[str, Any]]:
    return list(client.get("/v4/account/events").json()["data"])


def image_of(client: Client, disk: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = client.post("/v4/images", json={"disk_id": disk["id"], **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.both
def test_a_disk_becomes_an_image_that_is_deployed(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    cloud.freeze()
    image = image_of(alice, disk, description="of gold")
    assert (image["label"], image["size"], image["status"], image["is_public"]) == ("gold", 2000, "creating", False)
    assert (image["created_by"], image["type"], image["vendor"], image["expiry"]) == ("alice", "manual", None, None)
    event = events(alice)[0]
    assert (event["action"], event["status"], event["entity"]["id"]) == ("disk_imagize", "scheduled", disk["instance"])
    assert event["secondary_entity"] == {
        "id": image["id"],
        "label": "gold",
        "type": "image",
        "url": f"/v4/images/{image['id']}",
    }
    body = {**INSTANCE, "image": image["id"], "root_pass": PASSWORD}
    assert errors(alice.post("/v4/compute/instances", json=body)) == [("image", "image is not valid")]
    cloud.settle()
    assert events(alice)[0]["status"] == "finished"
    assert alice.get(f"/v4/images/{image['id']}").json()["status"] == "available"
    assert alice.delete(disk["path"]).status_code == 200
    made = alice.post("/v4/compute/instances", json=body)
    assert made.status_code == 200, made.text
    cloud.settle()
    path = f"/v4/compute/instances/{made.json()['id']}"
    assert alice.get(path).json()["status"] == "running"
    assert alice.post(f"{path}/rebuild", json={"image": image["id"], "root_pass": PASSWORD}).status_code == 200
    cloud.settle()
    assert alice.get(path).json()["status"] == "running"
    assert violations(cloud) == []
    report = sweeping.compare(cloud.runtime)
    assert (report.orphans, report.missing, report.misplaced) == ([], [], [])


def test_an_image_is_measured_by_what_the_disk_holds(cloud: Cloud, alice: Client) -> None:
    body = {**INSTANCE, "image": "compute/debian12", "root_pass": PASSWORD, "booted": False}
    path = f"/v4/compute/instances/{alice.post('/v4/compute/instances', json=body).json()['id']}"
    cloud.settle()
    (root, _) = alice.get(f"{path}/disks").json()["data"]
    assert root["size"] > 6144
    image = image_of(alice, root)
    cloud.settle()
    shown = alice.get(f"/v4/images/{image['id']}").json()
    assert (shown["status"], shown["size"]) == ("available", root["size"])
    made = alice.post("/v4/compute/instances", json={**body, "image": image["id"]})
    assert made.status_code == 200, made.text
    cloud.settle()
    assert events(alice)[0]["status"] == "finished"
    assert violations(cloud) == []


def test_a_disk_that_holds_too_much_becomes_no_image(cloud: Cloud, alice: Client) -> None:
    """An empty file system takes a 64th of the disk."""
    made = alice.post("/v4/compute/instances", json={**INSTANCE, "type": "g6-standard-16"}).json()
    path = f"/v4/compute/instances/{made['id']}/disks"
    big = alice.post(path, json={"size": 6144 * 64, "label": "big"}).json()
    cloud.settle()
    image = image_of(alice, big)
    cloud.settle()
    event = events(alice)[0]
    assert (event["action"], event["status"]) == ("disk_imagize", "failed")
    assert event["message"] == "The disk holds 6145 MB, and an image can hold at most 6144 MB."
    assert alice.get(f"/v4/images/{image['id']}").status_code == 404
    assert violations(cloud) == []


def test_a_private_image_is_deployed_to_a_raw_disk_and_that_becomes_an_image(
    cloud: Cloud, alice: Client, disk: dict[str, Any]
) -> None:
    image = image_of(alice, disk)
    cloud.settle()
    body = {"size": 3000, "filesystem": "raw", "root_pass": PASSWORD}
    made = alice.post(f"{disk['path']}/disks", json={**body, "image": image["id"]})
    assert made.status_code == 200, made.text
    cloud.settle()
    assert events(alice)[0]["status"] == "finished"
    assert alice.get(f"{disk['path']}/disks/{made.json()['id']}").json()["filesystem"] == "raw"
    official = alice.post(f"{disk['path']}/disks", json={**body, "image": "compute/alpine3.15"})
    assert errors(official) == [("filesystem", "An image cannot be deployed to such a disk")]
    again = image_of(alice, made.json(), label="raw")
    cloud.settle()
    assert alice.get(f"/v4/images/{again['id']}").json()["status"] == "available"
    assert violations(cloud) == []


def test_what_cannot_become_an_image_is_refused(cloud: Cloud, alice: Client, mallory: Client) -> None:
    made = alice.post("/v4/compute/instances", json={**INSTANCE, "type": "g6-standard-1"}).json()
    path = f"/v4/compute/instances/{made['id']}/disks"
    big = alice.post(path, json={"size": 6145, "label": "big", "filesystem": "raw"}).json()["id"]
    cloud.settle()
    swap = alice.post(path, json={"size": 512, "label": "swap", "filesystem": "swap"}).json()["id"]
    cloud.settle()
    assert errors(alice.post("/v4/images", json={"disk_id": big})) == [
        ("disk_id", "A raw disk must not be larger than 6144 MB")
    ]
    assert errors(alice.post("/v4/images", json={"disk_id": swap})) == [
        ("disk_id", "Only a disk with the filesystem ext3, ext4 or raw can become an image")
    ]
    assert errors(alice.post("/v4/images", json={"label": ""})) == [
        ("disk_id", "disk_id is required"),
        ("label", "Length must be 1-50 characters"),
    ]
    for answer in (mallory.post("/v4/images", json={"disk_id": big}), alice.post("/v4/images", json={"disk_id": 9999})):
        assert (answer.status_code, errors(answer)) == (404, [(None, "Not found")])


def test_a_busy_instance_makes_no_image(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    cloud.freeze()
    image_of(alice, disk)
    assert errors(alice.post("/v4/images", json={"disk_id": disk["id"]})) == [(None, "Compute busy.")]


def test_an_image_that_fails_is_gone(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    cloud.sandbox.put("/_sandbox/transitions", json={"disk_imagize": {"seconds": 1, "fail": "the disk broke"}})
    image = image_of(alice, disk)
    cloud.settle()
    assert (events(alice)[0]["status"], events(alice)[0]["message"]) == ("failed", "the disk broke")
    assert alice.get(f"/v4/images/{image['id']}").status_code == 404
    assert violations(cloud) == []


def test_label_and_description_are_changed(alice: Client, cloud: Cloud, disk: dict[str, Any]) -> None:
    path = f"/v4/images/{image_of(alice, disk)['id']}"
    cloud.settle()
    changed = alice.put(path, json={"label": "silver", "description": "shines", "status": "creating"}).json()
    assert (changed["label"], changed["description"], changed["status"]) == ("silver", "shines", "available")
    assert alice.put(path, json={"description": None}).json()["description"] is None
    event = events(alice)[0]
    assert (event["action"], event["status"], event["entity"]["type"]) == ("image_update", "notification", "image")
    wrong = alice.put(path, json={"label": "", "description": ""})
    assert [field for field, _ in errors(wrong)] == ["label", "description"]


def test_an_image_is_deleted_from_its_host_too(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    image = image_of(alice, disk)
    cloud.settle()
    cloud.freeze()
    assert alice.delete(f"/v4/images/{image['id']}").json() == {}
    assert alice.get(f"/v4/images/{image['id']}").status_code == 404
    event = events(alice)[0]
    assert (event["action"], event["status"], event["entity"]["id"]) == ("image_delete", "scheduled", image["id"])
    cloud.settle()
    assert events(alice)[0]["status"] == "finished"
    assert violations(cloud) == []


@pytest.mark.parametrize("of", ["image", "instance"])
def test_a_deletion_in_the_middle_leaves_nothing(cloud: Cloud, alice: Client, disk: dict[str, Any], of: str) -> None:
    cloud.freeze()
    image = image_of(alice, disk)
    cloud.advance(1)
    assert alice.delete(f"/v4/images/{image['id']}" if of == "image" else disk["path"]).status_code == 200
    cloud.settle()
    assert alice.get(f"/v4/images/{image['id']}").status_code == 404
    assert violations(cloud) == []


def test_nobody_changes_or_deletes_an_official_image(alice: Client, mallory: Client, disk: dict[str, Any]) -> None:
    for answer in (
        alice.put("/v4/images/compute/debian11", json={"label": "x"}),
        alice.delete("/v4/images/compute/debian11"),
    ):
        assert (answer.status_code, errors(answer)) == (403, [(None, "Unauthorized")])
    own = image_of(alice, disk)["id"]
    assert mallory.put(f"/v4/images/{own}", json={"label": "x"}).status_code == 404
    assert mallory.delete(f"/v4/images/{own}").status_code == 404
    assert alice.delete("/v4/images/private/9999").status_code == 404


def test_a_restricted_user_needs_grants(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    first = image_of(alice, disk)["id"]
    cloud.settle()
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    bob = cloud.client(cloud.token("bob"))
    number = int(first.partition("/")[2])

    def grant(**grants: Any) -> None:
        assert alice.put("/v4/account/users/bob/grants", json=grants).status_code == 200

    assert bob.post("/v4/images", json={"disk_id": disk["id"]}).status_code == 403
    grant(**{"global": {"add_images": True}, "image": [{"id": number, "permissions": "read_only"}]})
    refused = bob.post("/v4/images", json={"disk_id": disk["id"]})
    assert errors(refused) == [("disk_id", "You do not have permission to access this Disk")]
    assert bob.get(f"/v4/images/{first}").status_code == 200
    assert bob.put(f"/v4/images/{first}", json={"label": "x"}).status_code == 403
    assert bob.delete(f"/v4/images/{first}").status_code == 403
    grant(compute=[{"id": disk["instance"], "permissions": "read_only"}])
    own = bob.post("/v4/images", json={"disk_id": disk["id"]})
    assert own.status_code == 200, own.text
    cloud.settle()
    assert bob.delete(f"/v4/images/{own.json()['id']}").status_code == 200
    grant(image=[{"id": number, "permissions": "read_write"}])
    assert bob.put(f"/v4/images/{first}", json={"label": "x"}).status_code == 200


def test_a_token_needs_both_scopes(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    for scopes, status in (
        ("images:read_write", 403),
        ("images:read_only computes:read_write", 403),
        ("images:read_write computes:read_only", 200),
    ):
        client = cloud.client(cloud.token("alice", scopes))
        assert client.post("/v4/images", json={"disk_id": disk["id"]}).status_code == status, scopes


def test_an_account_has_so_many_images(alice: Client, disk: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_IMAGES", 0)
    assert errors(alice.post("/v4/images", json={"disk_id": disk["id"]})) == [(None, rules.TOO_MANY)]
    upload = alice.post("/v4/images/upload", json={"label": "x", "region": "us-east"})
    assert errors(upload) == [(None, rules.TOO_MANY)]


def test_a_closed_account_leaves_no_image_behind(cloud: Cloud, alice: Client, disk: dict[str, Any]) -> None:
    image_of(alice, disk)
    cloud.settle()
    image_of(alice, disk)
    alice.post("/v4/images/upload", json={"label": "x", "region": "us-east"})
    assert alice.post("/v4/account/cancel", json={}).status_code == 200
    cloud.settle()
    assert cloud.runtime.hypervisor.list().images == ()
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM image WHERE account_id IS NOT NULL").fetchone()[0] == 0
