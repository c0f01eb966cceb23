"""Disks of an instance through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter.drivers.hypervisor import DiskRef
from crofter.resources.instances import hypervisor_client
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import (
    IMAGE,
    PASSWORD,
    act,
    configs,
    create,
    deploy,
    disks,
    entity,
    events,
    last,
    refused,
    status,
    transitions,
)

URL = "/v4/compute/instances"
POWERED_OFF = "Compute must be powered off in order to reset root password."
WEAK = "Password does not meet strength requirement"


@pytest.fixture
def own(alice: Client) -> int:
    """An empty instance with space for 51200 MB."""
    return int(create(alice)["id"])


def add(cloud: Cloud, client: Client, own: int, **body: Any) -> dict[str, Any]:
    made = client.post(f"{URL}/{own}/disks", json={"label": "data", "size": 1000, **body})
    assert made.status_code == 200, made.text
    cloud.settle()
    return dict(client.get(f"{URL}/{own}/disks/{made.json()['id']}").json())


def fingerprint(cloud: Cloud, disk_id: int) -> str | None:
    """Return the contents of a disk as the hypervisor reports them."""
    with cloud.runtime.database.read() as db:
        sql = f"SELECT host FROM instance WHERE id = (SELECT instance_id FROM disk WHERE id = {disk_id})"
        host = int(db.raw(sql).fetchone()[0])
    return hypervisor_client.hypervisor(cloud.runtime).observe(DiskRef(host, disk_id)).content


@pytest.mark.both
def test_an_empty_disk_is_made(cloud: Cloud, alice: Client, own: int) -> None:
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/disks", json={"label": "data", "size": 1000})
    made = answer.json()
    assert made == {
        "created": made["created"],
        "filesystem": "ext4",
        "id": made["id"],
        "label": "data",
        "size": 1000,
        "status": "not ready",
        "updated": made["created"],
    }
    event = last(alice, "disk_create")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert entity(event["entity"])[:2] == ("compute", own)  # type: ignore[index]
    url = f"{URL}/{own}/disks/{made['id']}"
    assert entity(event["secondary_entity"]) == ("disk", made["id"], "data", url)
    cloud.settle()
    assert alice.get(url).json()["status"] == "ready"
    assert last(alice, "disk_create")["status"] == "finished"
    assert status(alice, own) == "offline"
    assert disks(alice, own) == [alice.get(url).json()]


def test_an_image_is_deployed_to_a_disk(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own, image=IMAGE, root_pass=PASSWORD, size=1300, label=None)
    assert (made["label"], made["filesystem"], made["status"]) == ("Debian 11 Disk", "ext4", "ready")
    older = add(cloud, alice, own, image=IMAGE, root_pass=PASSWORD, size=1300, filesystem="ext3", label="older")
    assert (older["label"], older["filesystem"]) == ("older", "ext3")


@pytest.mark.parametrize("filesystem", ["raw", "swap", "ext3", "ext4", "initrd"])
def test_every_file_system_can_be_had(cloud: Cloud, alice: Client, own: int, filesystem: str) -> None:
    assert add(cloud, alice, own, filesystem=filesystem)["filesystem"] == filesystem


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"label": "x"}, "size is required", "size"),
        ({"label": "x", "size": 0}, "Disk size must be at least 1 MB", "size"),
        ({"label": "x", "size": "big"}, "Must be of type Integer", "size"),
        ({"size": 10}, "label is required", "label"),
        ({"label": "", "size": 10}, "Length must be 1-48 characters", "label"),
        ({"label": "x" * 49, "size": 10}, "Length must be 1-48 characters", "label"),
        ({"image": IMAGE, "size": 5000}, "root_pass is required", "root_pass"),
        ({"image": IMAGE, "size": 5000, "root_pass": "password"}, WEAK, "root_pass"),
        ({"image": IMAGE, "size": 1299, "root_pass": PASSWORD}, "Must be at least 1300", "size"),
        ({"image": "compute/none", "size": 5000, "root_pass": PASSWORD}, "image is not valid", "image"),
        (
            {"image": IMAGE, "size": 5000, "root_pass": PASSWORD, "filesystem": "swap"},
            "An image cannot be deployed to such a disk",
            "filesystem",
        ),
        (
            {"image": IMAGE, "size": 5000, "root_pass": PASSWORD, "authorized_users": ["nobody"]},
            "authorized_users is not valid",
            "authorized_users",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(
    cloud: Cloud, alice: Client, own: int, body: dict[str, Any], reason: str, field: str
) -> None:
    refused(alice.post(f"{URL}/{own}/disks", json=body), reason, field)
    assert disks(alice, own) == events(alice, "disk_create") == []


def test_a_password_is_judged_whatever_the_image_is(cloud: Cloud, alice: Client, own: int) -> None:
    body = {"image": "compute/none", "size": 5000, "root_pass": "aaaaaaaa"}
    answer = alice.post(f"{URL}/{own}/disks", json=body)
    assert (answer.status_code, errors(answer)) == (400, [("image", "image is not valid"), ("root_pass", WEAK)])


def test_disks_never_take_more_than_the_plan_gives(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own, size=51200 - 100)
    for path, body in (
        ("disks", {"label": "more", "size": 101}),
        ("disks", {"label": "more", "size": 2**31}),
        (f"disks/{made['id']}/resize", {"size": 51201}),
        (f"disks/{made['id']}/clone", {}),
    ):
        answer = alice.post(f"{URL}/{own}/{path}", json=body)
        assert answer.status_code == 400
        assert "Insufficient space" in answer.json()["errors"][0]["reason"]
        assert "field" not in answer.json()["errors"][0]
    add(cloud, alice, own, size=100)


def test_space_that_a_resize_has_asked_for_is_taken(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own, size=1000)
    cloud.freeze()
    act(alice, own, f"disks/{made['id']}/resize", size=51000)
    answer = alice.get(f"{URL}/{own}/disks/{made['id']}").json()
    assert (answer["size"], answer["status"]) == (1000, "not ready")
    event = last(alice, "disk_resize")
    assert (event["status"], entity(event["secondary_entity"])[:2]) == ("scheduled", ("disk", made["id"]))  # type: ignore[index]
    cloud.settle()
    answer = alice.get(f"{URL}/{own}/disks/{made['id']}").json()
    assert (answer["size"], answer["status"]) == (51000, "ready")
    assert last(alice, "disk_resize")["status"] == "finished"
    assert alice.post(f"{URL}/{own}/disks", json={"label": "x", "size": 201}).status_code == 400
    act(alice, own, f"disks/{made['id']}/resize", size=2000)
    cloud.settle()
    assert alice.get(f"{URL}/{own}/disks/{made['id']}").json()["size"] == 2000


@pytest.mark.parametrize(
    ("booted", "size", "words"),
    [(True, 2000, "in use"), (True, 60000, None), (False, 10, "The files on the disk need")],
)
def test_a_resize_that_cannot_work_is_accepted_and_fails(
    cloud: Cloud, alice: Client, booted: bool, size: int, words: str | None
) -> None:
    own = deploy(cloud, alice, booted=booted)
    root = disks(alice, own)[0]
    answer = alice.post(f"{URL}/{own}/disks/{root['id']}/resize", json={"size": size})
    if words is None:
        assert answer.status_code == 400
        return
    assert (answer.status_code, answer.json()) == (200, {})
    cloud.settle()
    event = last(alice, "disk_resize")
    assert event["status"] == "failed"
    assert words in event["message"]
    after = disks(alice, own)[0]
    assert (after["size"], after["status"]) == (root["size"], "ready")
    assert status(alice, own) == ("running" if booted else "offline")


def test_a_disk_that_is_not_in_the_booted_profile_can_be_resized_while_running(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g6-nanode-1", booted=False)
    act(alice, own, "resize", type="g6-standard-1", allow_auto_disk_resize=False)
    cloud.settle()
    made = add(cloud, alice, own, label="apart")
    act(alice, own, "boot")
    cloud.settle()
    act(alice, own, f"disks/{made['id']}/resize", size=2000)
    cloud.settle()
    assert last(alice, "disk_resize")["status"] == "finished"
    assert disks(alice, own)[-1]["size"] == 2000


@pytest.mark.parametrize("size", [0, -1, None, "1"])
def test_a_size_must_be_one(cloud: Cloud, alice: Client, own: int, size: Any) -> None:
    made = add(cloud, alice, own)
    answer = alice.post(f"{URL}/{own}/disks/{made['id']}/resize", json={"size": size})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "size")
    if isinstance(size, int):
        assert answer.json()["errors"][0]["reason"] == "Disk size must be at least 1 MB"


@pytest.mark.both
def test_a_disk_is_copied_byte_for_byte(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own, image=IMAGE, root_pass=PASSWORD, size=2000, label="root")
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/disks/{made['id']}/clone", json={"label": "ignored"})
    copy = answer.json()
    assert answer.status_code == 200
    assert (copy["label"], copy["size"], copy["filesystem"], copy["status"]) == (
        "Copy of root",
        2000,
        "ext4",
        "not ready",
    )
    assert copy["id"] != made["id"]
    cloud.settle()
    assert [disk["status"] for disk in disks(alice, own)] == ["ready", "ready"]
    event = last(alice, "disk_duplicate")
    assert (event["status"], entity(event["secondary_entity"])[0]) == ("finished", "disk")  # type: ignore[index]
    assert fingerprint(cloud, copy["id"]) == fingerprint(cloud, made["id"])


def test_only_the_label_is_changed(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own)
    body = {"label": "renamed", "filesystem": "raw", "size": 4000, "status": "deleting", "id": 7}
    answer = alice.put(f"{URL}/{own}/disks/{made['id']}", json=body)
    assert answer.status_code == 200
    assert answer.json() == {**made, "label": "renamed", "updated": answer.json()["updated"]}
    event = last(alice, "disk_update")
    assert (event["status"], event["percent_complete"]) == ("notification", None)
    assert entity(event["secondary_entity"])[2] == "renamed"  # type: ignore[index]
    for bad, field in (({"label": ""}, "label"), ({"size": 0}, "size"), ({"filesystem": "zfs"}, "filesystem")):
        answer = alice.put(f"{URL}/{own}/disks/{made['id']}", json=bad)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert alice.put(f"{URL}/{own}/disks/{made['id']}", json={"label": None}).json()["label"] == "renamed"


def test_a_deleted_disk_leaves_the_profiles_that_had_it(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    root, swap = disks(alice, own)
    cloud.freeze()
    assert alice.delete(f"{URL}/{own}/disks/{swap['id']}").json() == {}
    assert alice.get(f"{URL}/{own}/disks/{swap['id']}").json()["status"] == "deleting"
    cloud.settle()
    assert alice.get(f"{URL}/{own}/disks/{swap['id']}").status_code == 404
    (config,) = configs(alice, own)
    assert config["devices"]["sda"] == {"disk_id": root["id"], "volume_id": None}
    assert config["devices"]["sdb"] is None
    event = last(alice, "disk_delete")
    assert (event["status"], entity(event["secondary_entity"])[:3]) == ("finished", ("disk", swap["id"], swap["label"]))  # type: ignore[index]
    assert hypervisor_client.hypervisor(cloud.runtime).list().disks[-1].id == root["id"]


def test_a_disk_in_use_is_not_deleted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    root = disks(alice, own)[0]
    refused(alice.delete(f"{URL}/{own}/disks/{root['id']}"), "The disk is in use by the booted configuration profile.")
    assert disks(alice, own)[0]["status"] == "ready"


def test_disks_are_filtered(cloud: Cloud, alice: Client, own: int) -> None:
    small, large = add(cloud, alice, own, label="small", size=100), add(cloud, alice, own, label="large", size=200)

    def filtered(**wanted: Any) -> list[int]:
        answer = alice.get(f"{URL}/{own}/disks", headers={"X-Filter": json.dumps(wanted)})
        return [disk["id"] for disk in answer.json()["data"]]

    assert filtered(label="small") == [small["id"]]
    assert filtered(size={"+gte": 200}) == [large["id"]]
    assert filtered(**{"+order_by": "size", "+order": "desc"}) == [large["id"], small["id"]]
    answer = alice.get(f"{URL}/{own}/disks", headers={"X-Filter": '{"filesystem": "ext4"}'})
    refused(answer, "Cannot filter on filesystem", "X-Filter")


def test_the_password_of_a_disk_is_reset(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    root, swap = disks(alice, own)
    before = fingerprint(cloud, root["id"])
    address = f"{URL}/{own}/disks/{root['id']}/password"
    assert alice.post(address, json={"password": PASSWORD}).json() == {}
    cloud.settle()
    event = last(alice, "password_reset")
    assert (event["status"], event["percent_complete"]) == ("finished", 100)
    assert entity(event["secondary_entity"])[:2] == ("disk", root["id"])  # type: ignore[index]
    assert fingerprint(cloud, root["id"]) != before
    refused(alice.post(address, json={"password": "password"}), WEAK, "password")
    refused(alice.post(address, json={}), "password is required", "password")
    refused(alice.post(address, json={"password": "x"}), "Length must be 7-128 characters", "password")
    assert alice.post(f"{URL}/{own}/disks/{swap['id']}/password", json={"password": PASSWORD}).status_code == 400


def test_the_password_of_an_instance_is_reset_while_it_is_off(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    address = f"{URL}/{own}/password"
    refused(alice.post(address, json={"root_pass": PASSWORD}), POWERED_OFF)
    act(alice, own, "shutdown")
    cloud.settle()
    refused(alice.post(address, json={"root_pass": "qwertyuiop"}), WEAK, "root_pass")
    refused(alice.post(address, json={}), "root_pass is required", "root_pass")
    assert events(alice, "password_reset") == []
    assert alice.post(address, json={"root_pass": PASSWORD}).json() == {}
    cloud.settle()
    event = last(alice, "password_reset")
    assert (event["status"], event["entity"]["id"]) == ("finished", own)
    assert entity(event["secondary_entity"])[:2] == ("disk", disks(alice, own)[0]["id"])  # type: ignore[index]


def test_with_several_disks_the_password_of_one_must_be_named(cloud: Cloud, alice: Client, own: int) -> None:
    answer = alice.post(f"{URL}/{own}/password", json={"root_pass": PASSWORD})
    assert answer.status_code == 400  # no disk at all
    add(cloud, alice, own)
    add(cloud, alice, own)
    answer = alice.post(f"{URL}/{own}/password", json={"root_pass": PASSWORD})
    assert (answer.status_code, events(alice, "password_reset")) == (400, [])


@pytest.mark.parametrize(
    ("action", "path", "body"),
    [
        ("disk_create", "disks", {"label": "more", "size": 100}),
        ("disk_create", "disks", {"size": 2000, "image": IMAGE, "root_pass": PASSWORD}),
        ("disk_duplicate", "disks/{disk}/clone", {}),
        ("disk_resize", "disks/{disk}/resize", {"size": 3000}),
        ("password_reset", "disks/{disk}/password", {"password": PASSWORD}),
    ],
)
def test_what_fails_leaves_things_as_they_were(
    cloud: Cloud, alice: Client, own: int, action: str, path: str, body: dict[str, Any]
) -> None:
    made = add(cloud, alice, own, image=IMAGE, root_pass=PASSWORD, size=2000)
    transitions(cloud, **{action: {"fail": "The pool is broken."}})
    act(alice, own, path.format(disk=made["id"]), **body)
    cloud.settle()
    event = last(alice, action)
    assert (event["status"], event["message"]) == ("failed", "The pool is broken.")
    assert disks(alice, own) == [made | {"updated": disks(alice, own)[0]["updated"]}]
    assert [disk.id for disk in hypervisor_client.hypervisor(cloud.runtime).list().disks] == [made["id"]]
    assert status(alice, own) == "offline"
    act(alice, own, "disks", label="space-for-all", size=51200 - 2000)  # reservations were released


def test_a_delete_that_fails_leaves_the_disk(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(cloud, alice, own)
    transitions(cloud, disk_delete={"fail": "No."})
    alice.delete(f"{URL}/{own}/disks/{made['id']}")
    cloud.settle()
    assert (last(alice, "disk_delete")["status"], disks(alice, own)[0]["status"]) == ("failed", "ready")
