"""Boot, reboot, shutdown and rescue through HTTP, and what happens while something else is going on."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import (
    BUSY,
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


def config_entity(client: Client, own: int) -> tuple[Any, ...]:
    (config,) = configs(client, own)
    return ("compute_config", config["id"], config["label"], f"{URL}/{own}/configs/{config['id']}")


@pytest.mark.parametrize(
    ("start", "verb", "action", "meanwhile", "end"),
    [
        ("offline", "boot", "compute_boot", "booting", "running"),
        ("running", "reboot", "compute_reboot", "rebooting", "running"),
        ("offline", "reboot", "compute_boot", "booting", "running"),
        ("running", "shutdown", "compute_shutdown", "shutting_down", "offline"),
        ("running", "rescue", "compute_reboot", "rebooting", "running"),
        ("offline", "rescue", "compute_boot", "booting", "running"),
    ],
)
@pytest.mark.both
def test_power_is_a_job_with_a_status_and_an_event(
    cloud: Cloud, alice: Client, start: str, verb: str, action: str, meanwhile: str, end: str
) -> None:
    own = deploy(cloud, alice, booted=start == "running")
    cloud.freeze()
    before = len(events(alice))
    assert alice.post(f"{URL}/{own}/{verb}").json() == {}
    assert status(alice, own) == meanwhile
    (event,) = events(alice)[before:]
    assert (event["action"], event["status"], event["percent_complete"]) == (action, "scheduled", 0)
    assert entity(event["entity"])[:2] == ("compute", own)  # type: ignore[index]
    expected = config_entity(alice, own) if verb in ("boot", "reboot") else None
    assert entity(event["secondary_entity"]) == expected
    cloud.advance(0.1)
    assert status(alice, own) == meanwhile
    assert last(alice, action)["status"] == "started"
    cloud.settle()
    assert status(alice, own) == end
    (event,) = events(alice)[before:]
    assert (event["status"], event["percent_complete"], event["message"]) == ("finished", 100, "")
    assert event["duration"] > 0


def test_boot_reboot_and_shutdown_take_an_empty_body(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    assert alice.post(f"{URL}/{own}/shutdown", content=b"").json() == {}
    cloud.settle()
    assert alice.post(f"{URL}/{own}/boot", json={"config_id": None, "computeId": own}).json() == {}
    cloud.settle()
    assert alice.post(f"{URL}/{own}/reboot", json={}).json() == {}
    cloud.settle()
    assert status(alice, own) == "running"


def test_a_shutdown_of_what_is_off_is_done_at_once(cloud: Cloud, alice: Client) -> None:
    for own in (deploy(cloud, alice, booted=False), create(alice)["id"]):
        cloud.freeze()
        assert alice.post(f"{URL}/{own}/shutdown").json() == {}
        assert status(alice, own) == "offline"
        event = last(alice, "compute_shutdown")
        assert (event["status"], event["percent_complete"], event["entity"]["id"]) == ("finished", 100, own)
        assert alice.post(f"{URL}/{own}/shutdown").status_code == 200


def test_what_runs_cannot_be_booted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    refused(alice.post(f"{URL}/{own}/boot"), "Compute is already booted.")
    assert len(events(alice, "compute_boot")) == 1


def test_a_profile_must_be_found_to_boot(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    for verb in ("boot", "reboot"):
        answer = alice.post(f"{URL}/{own}/{verb}")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "config_id"
    empty = act(alice, own, "configs", label="empty", devices={})["id"]
    assert alice.post(f"{URL}/{own}/boot", json={"config_id": empty}).status_code == 400
    act(alice, own, "disks", label="data", size=100)
    cloud.settle()
    (disk,) = disks(alice, own)
    devices = {"sda": {"disk_id": disk["id"]}}
    assert alice.put(f"{URL}/{own}/configs/{empty}", json={"devices": devices}).status_code == 200
    second = act(alice, own, "configs", label="second", devices=devices)["id"]
    answer = alice.post(f"{URL}/{own}/boot")  # two profiles, and none was booted yet
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "config_id")
    act(alice, own, "boot", config_id=second)
    cloud.settle()
    act(alice, own, "reboot")  # the one that was booted last
    assert last(alice, "compute_reboot")["secondary_entity"]["id"] == second
    cloud.settle()
    refused(alice.post(f"{URL}/{own}/reboot", json={"config_id": 4711}), "config_id is not valid", "config_id")
    refused(alice.post(f"{URL}/{own}/reboot", json={"config_id": "x"}), "Must be of type Integer", "config_id")


def test_an_instance_without_disks_can_be_rescued(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    act(alice, own, "rescue")
    cloud.settle()
    assert status(alice, own) == "running"


def test_rescue_takes_disks_beside_it(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    root, swap = disks(alice, own)
    devices = {"sda": {"disk_id": root["id"]}, "sdb": {"disk_id": swap["id"]}, "sdc": None}
    answer = alice.post(f"{URL}/{own}/rescue", json={"devices": devices})
    assert (answer.status_code, answer.json()) == (200, {})
    cloud.settle()
    assert status(alice, own) == "running"
    event_actions = [event["action"] for event in events(alice)]
    assert event_actions[-1] == "compute_reboot"


@pytest.mark.parametrize(
    ("devices", "reason", "field"),
    [
        ({"sdh": {"disk_id": 1}}, "Must be one of sda, sdb, sdc, sdd, sde, sdf, sdg", "devices.sdh"),
        ({"sdz": None}, "Must be one of sda, sdb, sdc, sdd, sde, sdf, sdg", "devices.sdz"),
        ({"sda": {"disk_id": 4711}}, "disk_id is not valid", "devices.sda.disk_id"),
        ({"sda": {"volume_id": 4711}}, "volume_id is not valid", "devices.sda.volume_id"),
        ({"sda": {"disk_id": "x"}}, "Must be of type Integer", "devices.sda.disk_id"),
    ],
)
def test_rescue_refuses_what_is_not_there(
    cloud: Cloud, alice: Client, devices: dict[str, Any], reason: str, field: str
) -> None:
    own = deploy(cloud, alice, booted=False)
    (root, _) = disks(alice, own)
    sent = {
        slot: {**device, "disk_id": root["id"]} if device == {"disk_id": 1} else device
        for slot, device in devices.items()
    }
    refused(alice.post(f"{URL}/{own}/rescue", json={"devices": sent}), reason, field)
    assert status(alice, own) == "offline"


ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("boot", {}),
    ("reboot", {}),
    ("shutdown", {}),
    ("rescue", {}),
    ("rebuild", {"image": IMAGE, "root_pass": PASSWORD}),
    ("resize", {"type": "g6-standard-2"}),
    ("migrate", {"region": "us-west"}),
    ("clone", {"region": "us-east", "type": "g6-standard-1"}),
    ("disks", {"label": "more", "size": 10}),
    ("backups", {"label": "now"}),
    ("disks/{disk}/clone", {}),
    ("disks/{disk}/resize", {"size": 100}),
]


def test_one_thing_at_a_time(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True, swap_size=0)
    (root,) = disks(alice, own)
    cloud.freeze()
    act(alice, own, "reboot")
    before = len(events(alice))
    for path, body in ACTIONS:
        size = {} if "disks" not in path else {"size": 1}
        answer = alice.post(f"{URL}/{own}/{path.format(disk=root['id'])}", json={**body, **size} if body else body)
        assert (answer.status_code, answer.json()) == (400, BUSY), path
    assert (alice.delete(f"{URL}/{own}/disks/{root['id']}").status_code) == 400
    assert len(events(alice)) == before
    # Changes without a job are accepted.
    assert alice.put(f"{URL}/{own}", json={"label": "renamed"}).status_code == 200
    assert alice.get(f"{URL}/{own}/ips").status_code == 200
    cloud.settle()
    assert status(alice, own) == "running"
    assert alice.post(f"{URL}/{own}/shutdown").status_code == 200


@pytest.mark.parametrize("path", ["password", "disks/{disk}/password"])
def test_a_boot_waits_for_a_password_reset(cloud: Cloud, alice: Client, path: str) -> None:
    own = deploy(cloud, alice, booted=False, swap_size=0)
    (root,) = disks(alice, own)
    cloud.freeze()
    field = "root_pass" if path == "password" else "password"
    act(alice, own, path.format(disk=root["id"]), **{field: PASSWORD})
    for refused_path in ("reboot", "rescue", path.format(disk=root["id"])):
        answer = alice.post(f"{URL}/{own}/{refused_path}", json={field: PASSWORD} if "password" in refused_path else {})
        assert (answer.status_code, answer.json()) == (400, BUSY), refused_path
    act(alice, own, "boot")
    assert status(alice, own) == "booting"
    assert alice.post(f"{URL}/{own}/boot").json() == BUSY
    cloud.settle()
    assert status(alice, own) == "running"
    ended = {event["action"]: event["status"] for event in events(alice)[-2:]}
    assert ended == {"compute_boot": "finished", "password_reset": "finished"}


def test_a_stopped_instance_takes_no_jobs_and_can_be_deleted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    (root, _) = disks(alice, own)
    cloud.fault("host_maintenance", compute_id=own)
    assert status(alice, own) == "stopped"
    for path, body in ACTIONS:
        sent = {**body, "size": 1} if "size" in body else body
        answer = alice.post(f"{URL}/{own}/{path.format(disk=root['id'])}", json=sent)
        assert (answer.status_code, answer.json()) == (400, BUSY), path
    assert alice.delete(f"{URL}/{own}").status_code == 200
    cloud.sandbox.delete("/_sandbox/faults")
    cloud.settle()
    assert alice.get(f"{URL}/{own}").status_code == 404


@pytest.mark.parametrize("verb", ["boot", "reboot", "shutdown", "rescue"])
def test_what_fails_is_where_it_was(cloud: Cloud, alice: Client, verb: str) -> None:
    own = deploy(cloud, alice, booted=verb != "boot")
    transitions(cloud, **{"*": {"fail": "The machine did not answer."}})
    act(alice, own, verb)
    cloud.settle()
    event = events(alice)[-1]
    assert (event["status"], event["message"]) == ("failed", "The machine did not answer.")
    assert status(alice, own) == ("offline" if verb == "boot" else "running")
    transitions(cloud)
    act(alice, own, "boot" if verb == "boot" else "reboot")
    cloud.settle()
    assert status(alice, own) == "running"


def test_a_region_that_is_away_keeps_everything_waiting(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    act(alice, own, "reboot")
    made = create(alice, image=IMAGE, root_pass=PASSWORD)["id"]
    cloud.advance(600)
    assert (status(alice, own), status(alice, made)) == ("rebooting", "provisioning")
    cloud.fault("region_back", region="us-east")
    cloud.settle()
    assert (status(alice, own), status(alice, made)) == ("running", "running")
    assert {event["status"] for event in events(alice)} <= {"finished", "notification"}
