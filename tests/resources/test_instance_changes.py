"""Rebuild, resize, mutate and migrate through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter.resources.volumes.store import volume
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
    view,
)

URL = "/v4/compute/instances"
TOO_MUCH = "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller."
NO_TYPE = "A valid plan type by that ID was not found"


def statuses(cloud: Cloud, client: Client, own: int, seconds: float = 8.0) -> list[str]:
    """Every status that the instance shows, one after the other."""
    seen = [status(client, own)]
    for _ in range(int(seconds * 10)):
        cloud.advance(0.1)
        if (now := status(client, own)) != seen[-1]:
            seen.append(now)
    return seen


def sizes(client: Client, own: int) -> list[int]:
    return [disk["size"] for disk in disks(client, own)]


# ---- rebuild --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("running", "booted"), [(True, True), (False, True), (True, False)])
@pytest.mark.both
def test_everything_is_replaced_by_an_image(cloud: Cloud, alice: Client, running: bool, booted: bool) -> None:
    own = deploy(cloud, alice, booted=running, swap_size=0)
    before = {disk["id"] for disk in disks(alice, own)} | {profile["id"] for profile in configs(alice, own)}
    cloud.freeze()
    body = {"image": "compute/alpine3.15", "root_pass": PASSWORD, "booted": booted}
    answer = alice.post(f"{URL}/{own}/rebuild", json=body)
    assert (answer.status_code, answer.json()["id"], answer.json()["status"]) == (200, own, "rebuilding")
    event = last(alice, "compute_rebuild")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert entity(event["secondary_entity"])[:2] == ("image", "compute/alpine3.15")  # type: ignore[index]
    count = len(events(alice))
    assert statuses(cloud, alice, own) == ["rebuilding", "running" if booted else "offline"]
    assert len(events(alice)) == count  # its boot is part of it
    assert last(alice, "compute_rebuild")["status"] == "finished"
    assert view(alice, own)["image"] == "compute/alpine3.15"
    assert [(disk["label"], disk["size"]) for disk in disks(alice, own)] == [
        ("Alpine 3.15 Disk", 51200 - 512),
        ("512 MB Swap Image", 512),
    ]
    (config,) = configs(alice, own)
    assert (config["label"], config["kernel"]) == ("My Alpine 3.15 Disk Profile", "compute/grub2")
    assert before.isdisjoint({disk["id"] for disk in disks(alice, own)})


def test_an_empty_instance_can_be_rebuilt(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    act(alice, own, "rebuild", image=IMAGE, root_pass=PASSWORD)
    cloud.settle()
    assert (status(alice, own), len(disks(alice, own))) == ("running", 2)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"root_pass": PASSWORD}, [(None, "You must specify an image")]),
        ({}, [(None, "You must specify an image"), ("root_pass", "root_pass is required")]),
        ({"image": IMAGE}, [("root_pass", "root_pass is required")]),
        ({"image": IMAGE, "root_pass": "letmein1"}, [("root_pass", "Password does not meet strength requirement")]),
        ({"image": "compute/none", "root_pass": PASSWORD}, [("image", "image is not valid")]),
        (
            {"image": "compute/none", "root_pass": "aaaaaaaa"},
            [("image", "image is not valid"), ("root_pass", "Password does not meet strength requirement")],
        ),
        (
            {"image": IMAGE, "root_pass": PASSWORD, "stackscript_id": 4711},
            [("stackscript_id", "stackscript_id is an invalid stackscript")],
        ),
    ],
)
def test_a_rebuild_that_cannot_be_is_refused(
    cloud: Cloud, alice: Client, body: dict[str, Any], problems: list[tuple[str | None, str]]
) -> None:
    own = deploy(cloud, alice)
    answer = alice.post(f"{URL}/{own}/rebuild", json=body)
    assert answer.status_code == 400
    assert [(error.get("field"), error["reason"]) for error in answer.json()["errors"]] == problems
    assert (status(alice, own), events(alice, "compute_rebuild")) == ("running", [])


def test_a_password_that_is_missing_is_missed_once(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    errors = alice.post(f"{URL}/{own}/rebuild", json={"stackscript_id": 77}).json()["errors"]
    assert [error["reason"] for error in errors].count("root_pass is required") == 1


def test_a_rebuild_that_fails_shows_where_it_came(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    before = disks(alice, own)
    transitions(cloud, compute_rebuild={"fail": "No."})
    act(alice, own, "rebuild", image=IMAGE, root_pass=PASSWORD)
    cloud.settle()
    assert (last(alice, "compute_rebuild")["status"], status(alice, own)) == ("failed", "running")
    assert disks(alice, own) == before


# ---- resize ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("running", [True, False])
def test_a_larger_plan_and_its_disk(cloud: Cloud, alice: Client, running: bool) -> None:
    own = deploy(cloud, alice, booted=running)
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/resize", json={"type": "g6-standard-2"})
    assert (answer.status_code, answer.json()) == (200, {})
    create_event, resize_event = events(alice)[-2:]
    assert (create_event["action"], create_event["status"], create_event["percent_complete"]) == (
        "compute_resize_create",
        "notification",
        None,
    )
    assert (resize_event["action"], resize_event["status"], resize_event["percent_complete"]) == (
        "compute_resize",
        "scheduled",
        0,
    )
    seen = statuses(cloud, alice, own)
    assert seen == (["shutting_down", "migrating", "running"] if running else ["migrating", "offline"])
    after = view(alice, own)
    assert after["type"] == "g6-standard-2"
    assert after["specs"] == {"disk": 81920, "memory": 4096, "transfer": 4000, "vcpus": 2, "gpus": 0}
    assert sizes(alice, own) == [81920 - 512, 512]
    assert configs(alice, own)[0]["memory_limit"] == 4096
    assert last(alice, "compute_resize")["status"] == "finished"


def test_a_smaller_plan_if_the_files_fit(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    act(alice, own, "resize", type="g6-nanode-1")
    cloud.settle()
    assert (view(alice, own)["type"], sizes(alice, own), status(alice, own)) == (
        "g6-nanode-1",
        [25600 - 512, 512],
        "running",
    )


def test_a_limit_of_memory_that_a_smaller_plan_cannot_hold_follows_it(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g6-standard-1")
    limits = {
        act(alice, own, "configs", label=f"up to {limit}", devices={}, memory_limit=limit)["id"]
        for limit in (600, 1500)
    }
    act(alice, own, "resize", type="g6-nanode-1")
    cloud.settle()
    shown = [config for config in configs(alice, own) if config["id"] in limits]
    assert [config["memory_limit"] for config in shown] == [600, 1024]
    for config in shown:  # responses can be sent back
        assert alice.put(f"{URL}/{own}/configs/{config['id']}", json=config).status_code == 200


def test_a_disk_that_fits_a_smaller_plan_stays_as_it_is(cloud: Cloud, alice: Client) -> None:
    own = create(alice, type="g6-standard-2")["id"]
    act(alice, own, "disks", label="data", size=10000)
    cloud.settle()
    act(alice, own, "resize", type="g6-standard-1")
    cloud.settle()
    assert (view(alice, own)["type"], sizes(alice, own)) == ("g6-standard-1", [10000])


def test_a_raw_disk_is_never_made_smaller(cloud: Cloud, alice: Client) -> None:
    """Keep the size: only the owner knows the contents."""
    own = create(alice, type="g6-standard-1")["id"]
    disk = act(alice, own, "disks", label="data", size=51200, filesystem="raw")["id"]
    cloud.settle()
    refused(alice.post(f"{URL}/{own}/resize", json={"type": "g6-nanode-1"}), TOO_MUCH)
    act(alice, own, f"disks/{disk}/resize", size=100)
    cloud.settle()
    assert (last(alice, "disk_resize")["status"], sizes(alice, own)) == ("failed", [51200])
    act(alice, own, "resize", type="g6-standard-2")
    cloud.settle()
    assert sizes(alice, own) == [81920]


def test_disks_stay_as_they_are_if_told_so(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g6-nanode-1")
    act(alice, own, "resize", type="g6-standard-1", allow_auto_disk_resize=False)
    cloud.settle()
    assert (view(alice, own)["specs"]["disk"], sizes(alice, own)) == (51200, [25600 - 512, 512])
    # Two data disks: none of them follows a plan by itself.
    act(alice, own, "disks", label="data", size=20000)
    cloud.settle()
    refused(alice.post(f"{URL}/{own}/resize", json={"type": "g6-nanode-1"}), TOO_MUCH)
    act(alice, own, "resize", type="g6-standard-2")
    cloud.settle()
    assert sizes(alice, own) == [25600 - 512, 512, 20000]


def test_progress_of_a_resize_is_told_with_its_rate(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    transitions(cloud, compute_resize={"seconds": 200})
    cloud.freeze()
    act(alice, own, "resize", type="g6-standard-2")
    rates, left = [], []
    for _ in range(18):
        cloud.advance(10)
        event = last(alice, "compute_resize")
        rates += [event["rate"]] if event["rate"] else []
        left += [event["time_remaining"]] if event["time_remaining"] else []
    assert rates[0].endswith(" MB/s")
    assert float(rates[0].split()[0]) > 0
    assert all(remaining.count(":") == 2 for remaining in left)
    assert left[0] > left[len(left) // 2] > left[-1]
    cloud.settle()
    event = last(alice, "compute_resize")
    assert (event["status"], event["time_remaining"]) == ("finished", None)


def test_a_resize_that_cannot_be_is_refused(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    address = f"{URL}/{own}/resize"
    refused(alice.post(address, json={}), "type is required", "type")
    refused(alice.post(address, json={"type": "none"}), NO_TYPE, "type")
    refused(alice.post(address, json={"type": "g6-standard-1"}), "Compute is already running this service plan.")
    body = {"type": "g6-nanode-1", "allow_auto_disk_resize": False}
    refused(alice.post(address, json=body), TOO_MUCH)
    cloud.fault("migration_pending", compute_id=own)
    assert alice.post(address, json={"type": "g6-standard-2"}).status_code == 400
    assert events(alice, "compute_resize", "compute_resize_create") == []
    assert status(alice, own) == "running"


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(("kind", "to"), [("resize", "g6-standard-2"), ("resize", "g6-nanode-1")])
def test_a_change_that_fails_leaves_everything_as_it_was(
    cloud: Cloud, alice: Client, kind: str, to: str, running: bool
) -> None:
    own = deploy(cloud, alice, booted=running)
    before = view(alice, own), disks(alice, own), configs(alice, own)
    transitions(cloud, **{f"compute_{kind}": {"fail": "There is no space."}})
    act(alice, own, kind, type=to)
    cloud.settle()
    event = last(alice, f"compute_{kind}")
    assert (event["status"], event["message"]) == ("failed", "There is no space.")
    after = view(alice, own), disks(alice, own), configs(alice, own)
    assert after[0] | {"updated": None} == before[0] | {"updated": None}
    assert after[1:] == before[1:]


def test_a_downsize_below_what_the_files_need_fails(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g6-standard-1", swap_size=25000, booted=False)
    act(alice, own, "resize", type="g6-nanode-1")  # leaves 600 MB for the system
    cloud.settle()
    event = last(alice, "compute_resize")
    assert event["status"] == "failed"
    assert "The files on the disk need" in event["message"]
    assert (view(alice, own)["type"], sizes(alice, own), status(alice, own)) == (
        "g6-standard-1",
        [26200, 25000],
        "offline",
    )


# ---- mutate ---------------------------------------------------------------------------------------------------------


def test_a_plan_of_yesterday_is_mutated(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g5-nanode-1")
    assert alice.post(f"{URL}/{own}/mutate").json() == {}
    create_event, mutate_event = events(alice)[-2:]
    assert (create_event["action"], mutate_event["action"]) == ("compute_mutate_create", "compute_mutate")
    cloud.settle()
    assert (view(alice, own)["type"], status(alice, own)) == ("g6-nanode-1", "running")
    assert sum(sizes(alice, own)) == 25600
    refused(alice.post(f"{URL}/{own}/mutate"), "This Compute has no upgrade available.")


# ---- migrate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("running", [True, False])
def test_an_instance_moves_to_another_region(cloud: Cloud, alice: Client, running: bool) -> None:
    own = deploy(cloud, alice, booted=running, private_ip=True)
    before = view(alice, own)
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/migrate", json={"region": "us-west"})
    assert (answer.status_code, answer.json()) == (200, {})
    create_event, migrate_event = events(alice)[-2:]
    for event, action, state in (
        (create_event, "compute_migrate_datacenter_create", "notification"),
        (migrate_event, "compute_migrate_datacenter", "scheduled"),
    ):
        assert (event["action"], event["status"], event["entity"]["id"]) == (action, state, own)
        assert entity(event["secondary_entity"]) == ("region", "us-west", "us-west", "/v4/regions/us-west")
    answer = alice.post(f"{URL}/{own}/migrate", json={"region": "us-central"})
    assert (answer.status_code, answer.json()) == (400, BUSY)
    seen = statuses(cloud, alice, own)
    assert seen == (["shutting_down", "migrating", "running"] if running else ["migrating", "offline"])
    after = view(alice, own)
    assert after["region"] == "us-west"
    assert len(after["ipv4"]) == 2
    assert after["ipv4"][0] != before["ipv4"][0]
    assert after["ipv6"] != before["ipv6"]
    assert {address["region"] for address in alice.get(f"{URL}/{own}/ips").json()["ipv4"]["public"]} == {"us-west"}
    assert last(alice, "compute_migrate_datacenter")["status"] == "finished"
    act(alice, own, "reboot")
    cloud.settle()
    assert status(alice, own) == "running"


def test_an_empty_instance_moves_too(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    act(alice, own, "migrate", region="eu-central")
    cloud.settle()
    assert (view(alice, own)["region"], status(alice, own)) == ("eu-central", "offline")
    act(alice, own, "rebuild", image=IMAGE, root_pass=PASSWORD)
    cloud.settle()
    assert status(alice, own) == "running"


def test_a_move_that_fails_leaves_it_where_it_was(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    before = view(alice, own)
    transitions(cloud, compute_migrate_datacenter={"fail": "The link is down."})
    act(alice, own, "migrate", region="us-west")
    cloud.settle()
    assert last(alice, "compute_migrate_datacenter")["status"] == "failed"
    assert view(alice, own) | {"updated": None} == before | {"updated": None}


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"region": "moon"}, "region is not valid", "region"),
        ({"region": "us-east"}, "The Compute is in this region already", "region"),
        ({}, "There is no pending migration for this Compute.", None),
        ({"upgrade": True}, "This Compute has no upgrade available.", None),
        ({"region": "us-west", "upgrade": True}, "This Compute has no upgrade available.", None),
        ({"region": "moon", "upgrade": True}, "region is not valid", "region"),
        ({"region": 7}, "Must be of type String", "region"),
    ],
)
def test_a_migration_that_cannot_be_is_refused(
    cloud: Cloud, alice: Client, body: dict[str, Any], reason: str, field: str | None
) -> None:
    own = deploy(cloud, alice)
    before = len(events(alice))
    refused(alice.post(f"{URL}/{own}/migrate", json=body), reason, field)
    assert (status(alice, own), len(events(alice))) == ("running", before)


def test_a_region_that_is_away_takes_nobody(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-west")
    answer = alice.post(f"{URL}/{own}/migrate", json={"region": "us-west"})
    assert (answer.status_code, "migrations are currently disabled" in answer.text) == (400, True)


def test_a_private_network_stays_out_of_new_regions_and_hangs_loose_in_old_ones(cloud: Cloud, alice: Client) -> None:
    interfaces = [{"purpose": "public"}, {"purpose": "vlan", "label": "inside"}]
    own = deploy(cloud, alice, region="us-southeast", interfaces=interfaces)
    answer = alice.post(f"{URL}/{own}/migrate", json={"region": "ca-central"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "region")
    act(alice, own, "migrate", region="us-west")
    cloud.settle()
    assert (view(alice, own)["region"], status(alice, own)) == ("us-west", "running")


def test_volumes_must_be_detached_first(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    with cloud.runtime.database.write() as db:
        account = db.raw(f"SELECT account_id FROM instance WHERE id = {own}").fetchone()[0]
        then = {"created": "2026-01-01T00:00:00", "updated": "2026-01-01T00:00:00"}
        db.insert(
            volume, account_id=account, label="v", size=20, region="us-east", status="active", instance_id=own, **then
        )
    assert alice.post(f"{URL}/{own}/migrate", json={"region": "us-west"}).status_code == 400


def test_a_pending_move_to_another_host_is_begun_by_the_owner(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    before = view(alice, own)
    cloud.fault("migration_pending", compute_id=own)
    pending = [notification["type"] for notification in alice.get("/v4/account/notifications").json()["data"]]
    assert pending == ["migration_pending"]
    cloud.freeze()
    assert alice.post(f"{URL}/{own}/migrate", json={}).json() == {}
    event = last(alice, "compute_migrate")
    assert (event["status"], event["secondary_entity"]) == ("scheduled", None)
    cloud.settle()
    assert last(alice, "compute_migrate")["status"] == "finished"
    after = view(alice, own)
    assert {name: after[name] for name in before if name != "updated"} == {
        name: before[name] for name in before if name != "updated"
    }
    assert alice.get("/v4/account/notifications").json()["data"] == []
    assert events(alice, "compute_migrate_datacenter_create") == []


def test_a_move_to_another_region_takes_the_place_of_a_pending_one(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("migration_pending", compute_id=own)
    transitions(cloud, compute_migrate_datacenter={"fail": "The link is down."})
    act(alice, own, "migrate", region="us-west")
    cloud.settle()
    assert alice.get("/v4/account/notifications").json()["data"] == []
    refused(alice.post(f"{URL}/{own}/migrate"), "There is no pending migration for this Compute.")


def test_an_upgrade_comes_with_the_move(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g5-standard-4")
    act(alice, own, "migrate", region="us-west", upgrade=True)
    cloud.settle()
    after = view(alice, own)
    assert (after["type"], after["region"], after["status"]) == ("g6-standard-4", "us-west", "running")
    other = deploy(cloud, alice, type="g5-standard-4")
    act(alice, other, "migrate", upgrade=True)
    assert events(alice)[-1]["action"] == "compute_migrate"
    cloud.settle()
    assert (view(alice, other)["type"], view(alice, other)["region"]) == ("g6-standard-4", "us-east")
