"""Bringing backups back through HTTP: onto an instance, and as a new one."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.resources.compute import (
    BUSY,
    act,
    configs,
    create,
    deploy,
    disks,
    entity,
    events,
    last,
    new,
    refused,
    status,
    transitions,
    view,
)

URL = "/v4/compute/instances"
DENIED = "You do not have permission to access this Compute"


@pytest.fixture
def saved(cloud: Cloud, alice: Client) -> tuple[int, int]:
    """Return a running instance with a snapshot."""
    own = deploy(cloud, alice, backups_enabled=True, type="g6-nanode-1")
    made = act(alice, own, "backups", label="good")["id"]
    cloud.settle()
    return own, made


def kinds(listed_disks: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(disk["label"], disk["filesystem"], disk["size"], disk["status"]) for disk in listed_disks]


@pytest.mark.both
def test_a_backup_is_restored_beside_what_is_there(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, backup = saved
    target = deploy(cloud, alice, type="g6-nanode-1", booted=False)
    act(alice, target, "resize", type="g6-standard-2", allow_auto_disk_resize=False)
    cloud.settle()
    before = disks(alice, target)
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/backups/{backup}/restore", json={"compute_id": target})
    assert (answer.status_code, answer.json()) == (200, {})
    assert (status(alice, target), status(alice, own)) == ("restoring", "running")
    event = last(alice, "backups_restore")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert entity(event["entity"])[:2] == ("compute", target)  # type: ignore[index]
    cloud.settle()
    assert (status(alice, target), last(alice, "backups_restore")["status"]) == ("offline", "finished")
    assert kinds(disks(alice, target)) == kinds(before) + kinds(disks(alice, own))
    assert len(configs(alice, target)) == 2
    assert configs(alice, target)[1]["devices"]["sda"]["disk_id"] == disks(alice, target)[2]["id"]
    act(alice, target, "boot", config_id=configs(alice, target)[1]["id"])
    cloud.settle()
    assert status(alice, target) == "running"


@pytest.mark.parametrize("booted", [True, False])
def test_a_backup_takes_the_place_of_everything(
    cloud: Cloud, alice: Client, saved: tuple[int, int], booted: bool
) -> None:
    own, backup = saved
    if not booted:
        act(alice, own, "shutdown")
        cloud.settle()
    old = {disk["id"] for disk in disks(alice, own)}, {config["id"] for config in configs(alice, own)}
    expected = kinds(disks(alice, own)), [config["label"] for config in configs(alice, own)]
    answer = alice.post(f"{URL}/{own}/backups/{backup}/restore", json={"compute_id": own, "overwrite": True})
    assert answer.json() == {}
    cloud.settle()
    assert status(alice, own) == ("running" if booted else "offline")
    assert (kinds(disks(alice, own)), [config["label"] for config in configs(alice, own)]) == expected
    assert not old[0] & {disk["id"] for disk in disks(alice, own)}
    assert not old[1] & {config["id"] for config in configs(alice, own)}
    assert alice.get(f"{URL}/{own}/backups/{backup}").status_code == 200


@pytest.mark.parametrize("action", ["boot", "reboot"])
def test_what_is_being_restored_is_busy_before_it_lacks_anything(
    cloud: Cloud, alice: Client, saved: tuple[int, int], action: str
) -> None:
    own, backup = saved
    target = create(alice)["id"]
    cloud.freeze()
    act(alice, own, f"backups/{backup}/restore", compute_id=target)
    answer = alice.post(f"{URL}/{target}/{action}")
    assert (answer.status_code, answer.json()) == (400, BUSY)
    refused(alice.post(f"{URL}/{target}/{action}", json={"config_id": 4711}), "config_id is not valid", "config_id")
    cloud.settle()
    act(alice, target, action)


def test_what_cannot_be_restored_is_refused(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, backup = saved
    address = f"{URL}/{own}/backups/{backup}/restore"
    refused(alice.post(address, json={}), "compute_id is required", "compute_id")
    refused(alice.post(address, json={"compute_id": 4711}), DENIED, "compute_id", 403)
    elsewhere = create(alice, region="us-west")["id"]
    answer = alice.post(address, json={"compute_id": elsewhere})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "compute_id")
    answer = alice.post(address, json={"compute_id": own})  # no space beside what is there
    assert (answer.status_code, "Insufficient space" in answer.json()["errors"][0]["reason"]) == (400, True)
    cloud.freeze()
    act(alice, own, "reboot")
    answer = alice.post(address, json={"compute_id": own, "overwrite": True})
    assert (answer.status_code, answer.json()) == (400, BUSY)
    cloud.settle()
    assert events(alice, "backups_restore") == []
    assert alice.post(f"{URL}/{own}/backups/4711/restore", json={"compute_id": own}).status_code == 404


def test_only_a_good_backup_is_restored(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, _ = saved
    transitions(cloud, compute_snapshot={"fail": "No."})
    bad = act(alice, own, "backups", label="bad")["id"]
    cloud.settle()
    body = {"compute_id": own, "overwrite": True}
    assert alice.post(f"{URL}/{own}/backups/{bad}/restore", json=body).status_code == 400
    refused(new(alice, backup_id=bad), "backup_id is not valid", "backup_id")


def test_a_restore_that_fails_leaves_the_target_alone(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, backup = saved
    before = kinds(disks(alice, own))
    transitions(cloud, backups_restore={"fail": "The copy is broken."})
    act(alice, own, f"backups/{backup}/restore", compute_id=own, overwrite=True)
    cloud.settle()
    event = last(alice, "backups_restore")
    assert (event["status"], event["message"]) == ("failed", "The copy is broken.")
    assert (status(alice, own), kinds(disks(alice, own))) == ("running", before)


@pytest.mark.parametrize("booted", [True, False])
def test_an_instance_is_created_from_a_backup(
    cloud: Cloud, alice: Client, saved: tuple[int, int], booted: bool
) -> None:
    own, backup = saved
    cloud.freeze()
    made = create(alice, backup_id=backup, booted=booted, type="g6-nanode-1")
    target = made["id"]
    seen = [made["status"]]
    for _ in range(80):
        cloud.advance(0.1)
        if (now := status(alice, target)) != seen[-1]:
            seen.append(now)
    assert seen == ["provisioning", "restoring", *(("booting", "running") if booted else ("offline",))]
    assert kinds(disks(alice, target)) == kinds(disks(alice, own))
    assert [config["label"] for config in configs(alice, target)] == [config["label"] for config in configs(alice, own)]
    event = last(alice, "compute_create")
    assert (event["status"], event["entity"]["id"], event["secondary_entity"]) == ("finished", target, None)


def test_a_backup_needs_a_plan_and_a_region_that_fit(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True, type="g6-standard-1")
    backup = act(alice, own, "backups", label="good")["id"]
    cloud.settle()
    answer = new(alice, backup_id=backup, type="g6-nanode-1")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, "Insufficient space" in error["reason"]) == (400, True)
    answer = new(alice, backup_id=backup, region="us-west")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "backup_id")


def test_a_restricted_user_needs_to_own_what_was_backed_up(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, backup = saved
    body = {"backup_id": backup, "type": "g6-nanode-1"}
    everything = {"add_computes": True}
    bob = restricted(cloud, "bob", of="alice", globally=everything, compute={own: "read_only"})
    refused(new(bob, **body), DENIED, "backup_id", 403)
    carol = restricted(cloud, "carol", of="alice", globally=everything, compute={own: "read_write"})
    assert new(carol, **body).status_code == 200
    foreign = create(alice)["id"]
    address = f"{URL}/{own}/backups/{backup}/restore"
    refused(carol.post(address, json={"compute_id": foreign}), DENIED, "compute_id", 403)


def test_a_backup_stays_with_the_region_it_was_taken_in(cloud: Cloud, alice: Client, saved: tuple[int, int]) -> None:
    own, backup = saved
    act(alice, own, "migrate", region="us-west")
    cloud.settle()
    assert view(alice, own)["region"] == "us-west"
    assert alice.get(f"{URL}/{own}/backups/{backup}").json()["region"] == "us-east"
    assert create(alice, backup_id=backup, type="g6-nanode-1", region="us-east")["status"] == "provisioning"
    cloud.settle()
    assert last(alice, "compute_create")["status"] == "finished"
