"""Creating instances through HTTP: what is written down, what is shown meanwhile, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter import ssh
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.observed import errors
from tests.resources.compute import (
    IMAGE,
    PASSWORD,
    UNAUTHORIZED,
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
NO_TYPE = "A valid plan type by that ID was not found"


@pytest.mark.both
def test_an_instance_without_an_image_is_offline_at_once_with_every_default(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    answer = alice.post(URL, json={"type": "g6-standard-2", "region": "us-east"})
    made = answer.json()
    assert answer.status_code == 200
    (public,) = made["ipv4"]
    assert made == {
        "alerts": {"cpu": 180, "io": 10000, "network_in": 10, "network_out": 10, "transfer_quota": 80},
        "backups": {
            "available": False,
            "enabled": False,
            "last_successful": None,
            "schedule": {"day": None, "window": None},
        },
        "created": made["created"],
        "group": "",
        "hypervisor": "kvm",
        "id": made["id"],
        "image": None,
        "ipv4": [public],
        "ipv6": made["ipv6"],
        "label": f"compute{made['id']}",
        "region": "us-east",
        "specs": {"disk": 81920, "memory": 4096, "transfer": 4000, "vcpus": 2, "gpus": 0},
        "status": "offline",
        "tags": [],
        "type": "g6-standard-2",
        "updated": made["created"],
        "watchdog_enabled": True,
    }
    assert made["ipv6"].endswith("/128")
    assert view(alice, made["id"]) == made
    assert disks(alice, made["id"]) == configs(alice, made["id"]) == []
    (event,) = events(alice, "compute_create")
    assert (event["status"], event["percent_complete"], event["secondary_entity"]) == ("finished", 100, None)
    assert entity(event["entity"]) == ("compute", made["id"], made["label"], f"{URL}/{made['id']}")
    # A first disk can be added immediately.
    first = alice.post(f"{URL}/{made['id']}/disks", json={"label": "data", "size": 100})
    assert first.status_code == 200, first.text


def test_every_field_of_the_body_counts(cloud: Cloud, alice: Client) -> None:
    made = create(
        alice,
        image=IMAGE,
        root_pass=PASSWORD,
        label="web.1_a-b",
        group="servers",
        tags=["blue", "green"],
        private_ip=True,
        backups_enabled=True,
        booted=False,
        swap_size=1024,
        authorized_users=["alice"],
        watchdog_enabled=False,
        status="running",
    )
    assert (made["label"], made["group"], made["tags"]) == ("web.1_a-b", "servers", ["blue", "green"])
    assert made["backups"]["enabled"] is True
    assert made["backups"]["schedule"] == {"day": "Scheduling", "window": "Scheduling"}
    assert [address.startswith("192.168.") for address in made["ipv4"]] == [False, True]
    assert made["watchdog_enabled"] is True  # not a field of create
    assert made["status"] == "provisioning"
    cloud.settle()
    assert status(alice, made["id"]) == "offline"
    assert [disk["size"] for disk in disks(alice, made["id"])] == [51200 - 1024, 1024]
    assert [entity(event["entity"]) for event in events(alice, "tag_create")] == [
        ("tag", "blue", "blue", "/v4/tags/blue"),
        ("tag", "green", "green", "/v4/tags/green"),
    ]


@pytest.mark.both
def test_an_image_is_deployed_to_two_disks_and_a_profile_and_booted(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    made = create(alice, image=IMAGE, root_pass=PASSWORD)
    own = made["id"]
    assert (made["status"], made["image"]) == ("provisioning", IMAGE)
    event = last(alice, "compute_create")
    assert (event["status"], event["percent_complete"], event["duration"]) == ("scheduled", 0, None)
    assert [disk["status"] for disk in disks(alice, own)] == ["not ready", "not ready"]
    seen = [status(alice, own)]
    for _ in range(100):
        cloud.advance(0.1)
        if (now := status(alice, own)) != seen[-1]:
            seen.append(now)
    assert seen == ["provisioning", "booting", "running"]
    root, swap = disks(alice, own)
    assert (root["label"], root["filesystem"], root["size"], root["status"]) == (
        "Debian 11 Disk",
        "ext4",
        51200 - 512,
        "ready",
    )
    assert (swap["label"], swap["filesystem"], swap["size"]) == ("512 MB Swap Image", "swap", 512)
    (config,) = configs(alice, own)
    assert (config["label"], config["kernel"]) == ("My Debian 11 Disk Profile", "compute/grub2")
    assert (config["root_device"], config["memory_limit"]) == ("/dev/sda", 2048)
    assert config["devices"]["sda"] == {"disk_id": root["id"], "volume_id": None}
    assert config["devices"]["sdb"] == {"disk_id": swap["id"], "volume_id": None}
    assert config["devices"]["sdc"] is None
    created, booted = events(alice)[-2:]
    assert (created["action"], created["status"], created["percent_complete"]) == ("compute_create", "finished", 100)
    assert entity(created["secondary_entity"]) == ("image", IMAGE, "Debian 11", f"/v4/images/{IMAGE}")
    assert (booted["action"], booted["status"], booted["username"]) == ("compute_boot", "finished", "alice")
    assert booted["secondary_entity"]["type"] == "compute_config"
    assert booted["secondary_entity"]["id"] == config["id"]
    assert created["duration"] > 0


def test_progress_is_told_while_it_goes_on(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    transitions(cloud, compute_create={"seconds": 100})
    create(alice, image=IMAGE, root_pass=PASSWORD)
    reached = []
    for _ in range(9):
        cloud.advance(10)
        event = last(alice, "compute_create")
        assert (event["status"], event["time_remaining"]) == ("started", None)
        reached.append(event["percent_complete"])
    assert reached == sorted(reached)
    assert len(set(reached)) > 4
    assert 0 < reached[0] < reached[-1] < 100
    assert event["duration"] == 90


def test_no_swap_and_a_whole_disk(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, swap_size=0)
    assert [disk["size"] for disk in disks(alice, own)] == [51200]


def test_nulls_are_as_good_as_nothing(cloud: Cloud, alice: Client) -> None:
    nothing = dict.fromkeys(
        "image root_pass authorized_keys authorized_users backup_id backups_enabled booted group interfaces label"
        " private_ip stackscript_id stackscript_data swap_size tags".split()
    )
    made = create(alice, **nothing)
    assert (made["status"], made["group"], made["label"]) == ("offline", "", f"compute{made['id']}")


def test_a_default_label_that_is_taken_gets_a_number(cloud: Cloud, alice: Client) -> None:
    first = create(alice)
    taken = create(alice, label=f"compute{first['id'] + 2}")
    made = create(alice)
    assert made["id"] == taken["id"] + 1
    assert made["label"] == f"compute{made['id']}-2"


def test_the_account_may_want_backups_of_everything(cloud: Cloud, alice: Client) -> None:
    assert alice.put("/v4/account/settings", json={"backups_enabled": True}).status_code == 200
    assert create(alice)["backups"]["enabled"] is True
    assert create(alice, backups_enabled=False)["backups"]["enabled"] is False


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"type": "g9-none"}, NO_TYPE, "type"),
        ({"region": "moon"}, "region is not valid", "region"),
        ({"image": "compute/none", "root_pass": PASSWORD}, "image is not valid", "image"),
        ({"image": "private/77", "root_pass": PASSWORD}, "image is not valid", "image"),
        ({"image": IMAGE}, "root_pass is required", "root_pass"),
        ({"image": IMAGE, "root_pass": "short"}, "Length must be 7-128 characters", "root_pass"),
        ({"image": IMAGE, "root_pass": "password"}, "Password does not meet strength requirement", "root_pass"),
        ({"image": IMAGE, "root_pass": "alicealice"}, "Password does not meet strength requirement", "root_pass"),
        (
            {"image": IMAGE, "root_pass": PASSWORD, "stackscript_id": 77},
            "stackscript_id is an invalid stackscript",
            "stackscript_id",
        ),
        (
            {"image": IMAGE, "root_pass": PASSWORD, "authorized_users": ["alice", "nobody"]},
            "authorized_users is not valid",
            "authorized_users",
        ),
        ({"backup_id": 77}, "backup_id is not valid", "backup_id"),
        ({"image": IMAGE, "root_pass": PASSWORD, "backup_id": 77}, "Cannot be combined with image", "backup_id"),
        ({"label": "ab"}, "Length must be 3-64 characters", "label"),
        ({"label": "a" * 65}, "Length must be 3-64 characters", "label"),
        ({"label": "a--b"}, "Must not have two dashes, underscores or periods in a row", "label"),
        ({"label": "a__b"}, "Must not have two dashes, underscores or periods in a row", "label"),
        ({"label": "a..b"}, "Must not have two dashes, underscores or periods in a row", "label"),
        ({"label": "-abc"}, "Must begin and end with a letter or a number", "label"),
        ({"label": "abc."}, "Must begin and end with a letter or a number", "label"),
        ({"label": "a b"}, "Must only use ASCII letters, numbers, dashes, underscores and periods", "label"),
        ({"tags": ["ab"]}, "Length must be 3-50 characters", "tags[0]"),
        ({"swap_size": -1}, "Must be 0-10000000", "swap_size"),
        ({"booted": "yes"}, "Must be of type Boolean", "booted"),
        ({"type": 7}, "Must be of type String", "type"),
        ({"interfaces": [{"purpose": "public"}] * 4}, "Must have 0-3 items", "interfaces"),
        ({"interfaces": [{"purpose": "lan"}]}, "Must be one of public, vlan", "interfaces[0].purpose"),
        (
            {"interfaces": [{"purpose": "vlan", "label": "inside"}]},
            "VLANs are not available in this region",
            "interfaces",
        ),
        (
            {"type": "g1-gpu-rtx6000-1", "region": "us-west"},
            "The selected plan is not available in this region",
            "region",
        ),
    ],
)
def test_what_cannot_be_created_is_refused(
    cloud: Cloud, alice: Client, body: dict[str, Any], reason: str, field: str
) -> None:
    before = len(events(alice))
    refused(new(alice, **body), reason, field)
    assert alice.get(URL).json()["results"] == 0
    assert len(events(alice)) == before


def test_a_script_needs_an_image_and_a_password(cloud: Cloud, alice: Client) -> None:
    reasons = {error.get("field"): error["reason"] for error in new(alice, stackscript_id=77).json()["errors"]}
    assert (reasons["image"], reasons["root_pass"]) == ("image is required", "root_pass is required")


def test_an_image_and_its_swap_must_fit(cloud: Cloud, alice: Client) -> None:
    answer = new(alice, image=IMAGE, root_pass=PASSWORD, swap_size=51200 - 1299)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert "Insufficient space" in error["reason"]
    assert new(alice, image=IMAGE, root_pass=PASSWORD, swap_size=51200 - 1300).status_code == 200


def test_all_problems_are_told_at_once_in_the_order_of_the_fields(cloud: Cloud, alice: Client) -> None:
    answer = alice.post(URL, json={})
    assert answer.json() == {
        "errors": [
            {"field": "type", "reason": "type is required"},
            {"field": "region", "reason": "region is required"},
        ]
    }
    create(alice, label="taken")
    body = {"type": "x", "region": "y", "image": "z", "authorized_users": ["nobody"], "backup_id": 4711}
    answer = alice.post(URL, json={**body, "label": "taken"})
    assert [(error["field"], error["reason"]) for error in answer.json()["errors"]] == [
        ("type", NO_TYPE),
        ("region", "region is not valid"),
        ("image", "image is not valid"),
        ("authorized_users", "authorized_users is not valid"),
        ("backup_id", "Cannot be combined with image"),
        ("label", "Label must be unique among your Computes"),
    ]


def test_problems_of_shape_and_of_meaning_are_told_together(cloud: Cloud, alice: Client) -> None:
    create(alice, label="taken")
    body = {"region": "moon", "image": "compute/none", "root_pass": "short", "booted": "yes", "label": "taken"}
    answer = alice.post(URL, json={**body, "authorized_keys": ["no key", 5], "authorized_users": ["nobody"]})
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [
            {"field": "type", "reason": "type is required"},
            {"field": "region", "reason": "region is not valid"},
            {"field": "image", "reason": "image is not valid"},
            {"field": "root_pass", "reason": "Length must be 7-128 characters"},
            {"field": "authorized_keys[0]", "reason": ssh.complaint("no key")},
            {"field": "authorized_keys[1]", "reason": "Must be of type String"},
            {"field": "authorized_users", "reason": "authorized_users is not valid"},
            {"field": "booted", "reason": "Must be of type Boolean"},
            {"field": "label", "reason": "Label must be unique among your Computes"},
        ],
    )


def test_a_password_is_judged_whatever_the_image_is(cloud: Cloud, alice: Client) -> None:
    weak = ("root_pass", "Password does not meet strength requirement")
    answer = new(alice, image="compute/none", root_pass="aaaaaaaa")
    assert (answer.status_code, errors(answer)) == (400, [("image", "image is not valid"), weak])
    answer = new(alice, root_pass="aaaaaaaa")
    assert (answer.status_code, errors(answer)) == (400, [weak])
    assert new(alice, root_pass=PASSWORD).status_code == 200


def test_an_interface_that_makes_no_sense_hides_no_other(cloud: Cloud, alice: Client) -> None:
    purpose, empty = "Must be one of public, vlan", "Must be empty for a public interface"
    bad, named = {"purpose": "zzz"}, {"purpose": "public", "label": "v1"}
    answer = new(alice, interfaces=[bad, named])
    assert errors(answer) == [("interfaces[0].purpose", purpose), ("interfaces[1].label", empty)]
    answer = new(alice, region="moon", interfaces=[bad, named])
    assert errors(answer)[1:] == [("interfaces[0].purpose", purpose), ("interfaces[1].label", empty)]
    answer = new(alice, interfaces=[named, bad, {**named, "ipam_address": "x"}])
    assert errors(answer) == [
        ("interfaces", "Only one public interface is allowed"),
        ("interfaces[0].label", empty),
        ("interfaces[1].purpose", purpose),
        ("interfaces[2].label", empty),
        ("interfaces[2].ipam_address", empty),
    ]


def test_labels_are_unique_within_an_account(cloud: Cloud, alice: Client, mallory: Client) -> None:
    create(alice, label="web-server")
    refused(new(alice, label="web-server"), "Label must be unique among your Computes", "label")
    assert new(mallory, label="web-server").status_code == 200
    for label in ("1st", "a-_b", "A.b-C_d9"):
        assert new(alice, label=label).status_code == 200


def test_interfaces_make_the_networks_that_they_name(cloud: Cloud, alice: Client) -> None:
    wanted = [{"purpose": "public"}, {"purpose": "vlan", "label": "inside", "ipam_address": "10.0.0.1/24"}]
    own = deploy(cloud, alice, region="us-southeast", interfaces=wanted)
    (config,) = configs(alice, own)
    assert config["interfaces"] == [
        {"purpose": "public", "label": "", "ipam_address": ""},
        {"purpose": "vlan", "label": "inside", "ipam_address": "10.0.0.1/24"},
    ]
    assert status(alice, own) == "running"


def test_a_create_that_fails_leaves_an_instance_that_is_off_with_what_was_made(cloud: Cloud, alice: Client) -> None:
    transitions(cloud, compute_create={"fail": "The image could not be read."})
    made = create(alice, image=IMAGE, root_pass=PASSWORD)
    cloud.settle()
    assert status(alice, made["id"]) == "offline"
    event = last(alice, "compute_create")
    assert (event["status"], event["message"]) == ("failed", "The image could not be read.")
    assert event["percent_complete"] < 100
    assert [(disk["filesystem"], disk["status"]) for disk in disks(alice, made["id"])] == [("swap", "ready")]
    assert configs(alice, made["id"])[0]["devices"]["sda"] is None
    assert events(alice, "compute_boot") == []
    transitions(cloud)
    answer = alice.post(f"{URL}/{made['id']}/rebuild", json={"image": IMAGE, "root_pass": PASSWORD})
    assert answer.status_code == 200
    cloud.settle()
    assert status(alice, made["id"]) == "running"


def test_a_boot_that_fails_leaves_an_instance_that_is_off(cloud: Cloud, alice: Client) -> None:
    transitions(cloud, compute_boot={"fail": "No."})
    own = deploy(cloud, alice)
    assert (status(alice, own), last(alice, "compute_boot")["status"]) == ("offline", "failed")
    assert last(alice, "compute_create")["status"] == "finished"


def test_a_restricted_user_needs_a_grant_and_owns_what_it_makes(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob", of="alice")
    answer = new(bob)
    assert (answer.status_code, answer.json()) == (403, UNAUTHORIZED)
    carol = restricted(cloud, "carol", of="alice", globally={"add_computes": True})
    others = create(alice)["id"]
    own = create(carol)["id"]
    assert [instance["id"] for instance in carol.get(URL).json()["data"]] == [own]
    assert carol.get(f"{URL}/{others}").status_code == 403
    assert carol.put(f"{URL}/{own}", json={"label": "mine"}).status_code == 200
    assert carol.delete(f"{URL}/{own}").status_code == 200
    answer = new(carol, tags=["web"])
    assert (answer.status_code, answer.json()) == (403, UNAUTHORIZED)
    assert events(alice, "tag_create") == []


def test_who_owes_money_creates_nothing(cloud: Cloud) -> None:
    poor = cloud.person(username="poor", card="declined")
    create(poor, type="g6-standard-32")
    for _ in range(40):
        cloud.advance(3600 * 24)
        if poor.get("/v4/account").json()["balance"] > 0:
            break
    answer = new(poor)
    assert answer.status_code == 400
    assert "past due" in answer.json()["errors"][0]["reason"]


def test_the_password_is_written_nowhere(cloud: Cloud, alice: Client) -> None:
    secret = "a-Very-Unlikely-Phrase-77"
    made = create(alice, image=IMAGE, root_pass=secret)
    with cloud.runtime.database.read() as db:
        (raw,) = db.raw("SELECT input FROM operation WHERE kind = 'compute_create'").fetchone()
    assert secret not in str(raw)
    cloud.settle()
    with cloud.runtime.database.read() as db:
        (raw,) = db.raw("SELECT input FROM operation WHERE kind = 'compute_create'").fetchone()
    assert "seed" not in str(raw)
    assert secret not in str(events(alice)) + str(view(alice, made["id"]))
