"""Cloning instances through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.observed import errors
from tests.resources.compute import (
    BUSY,
    UNAUTHORIZED,
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
ONTO_ITSELF = "A Compute cannot be cloned onto itself"
NEW = {"region": "us-west", "type": "g6-standard-2"}


def kinds(listed_disks: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(disk["label"], disk["filesystem"], disk["size"], disk["status"]) for disk in listed_disks]


@pytest.mark.both
def test_an_instance_is_cloned_to_a_new_one(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web", tags=["blue"], group="servers")
    cloud.freeze()
    body = {**NEW, "label": "web-copy", "group": "copies", "backups_enabled": True, "private_ip": True}
    answer = alice.post(f"{URL}/{own}/clone", json=body)
    made = answer.json()
    assert answer.status_code == 200, answer.text
    assert (made["status"], made["label"], made["group"], made["tags"]) == ("offline", "web-copy", "copies", ["blue"])
    assert (made["region"], made["type"], made["image"]) == ("us-west", "g6-standard-2", "compute/debian11")
    assert (len(made["ipv4"]), made["backups"]["enabled"]) == (2, True)
    event = last(alice, "compute_clone")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert entity(event["entity"])[:3] == ("compute", own, "web")  # type: ignore[index]
    assert entity(event["secondary_entity"])[:3] == ("compute", made["id"], "web-copy")  # type: ignore[index]
    assert status(alice, own) == "running"
    cloud.advance(0.5)
    assert status(alice, made["id"]) == "cloning"
    answer = alice.post(f"{URL}/{made['id']}/boot")
    assert (answer.status_code, answer.json()) == (400, BUSY)
    cloud.settle()
    assert (status(alice, made["id"]), last(alice, "compute_clone")["status"]) == ("offline", "finished")
    assert kinds(disks(alice, made["id"])) == kinds(disks(alice, own))
    (config,) = configs(alice, made["id"])
    assert config["label"] == configs(alice, own)[0]["label"]
    assert config["devices"]["sda"]["disk_id"] == disks(alice, made["id"])[0]["id"]
    assert config["memory_limit"] == 4096
    act(alice, made["id"], "boot")
    cloud.advance(600)
    after = view(alice, made["id"])
    assert (after["status"], "Scheduling" in after["backups"]["schedule"].values()) == ("running", False)


def test_an_instance_is_cloned_onto_another(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, type="g6-nanode-1")
    target = create(alice, label="target", tags=["old"])["id"]
    answer = alice.post(f"{URL}/{own}/clone", json={"compute_id": target})
    assert (answer.json()["id"], answer.json()["tags"]) == (target, ["old"])
    cloud.settle()
    assert kinds(disks(alice, target)) == kinds(disks(alice, own))
    assert (status(alice, target), len(configs(alice, target))) == ("offline", 1)


def test_profiles_and_disks_can_be_chosen(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    root, swap = disks(alice, own)
    only = act(alice, own, "configs", label="only-swap", devices={"sda": {"disk_id": swap["id"]}})["id"]

    def copied(**chosen: Any) -> tuple[list[str], list[str]]:
        made = act(alice, own, "clone", **NEW, **chosen)["id"]
        cloud.settle()
        return [disk["label"] for disk in disks(alice, made)], [config["label"] for config in configs(alice, made)]

    both, profiles = [root["label"], swap["label"]], [config["label"] for config in configs(alice, own)]
    assert copied() == (both, profiles)
    assert copied(configs=[]) == ([], [])
    assert copied(configs=[], disks=[root["id"]]) == ([root["label"]], [])
    assert copied(configs=[only]) == ([swap["label"]], ["only-swap"])
    assert copied(configs=[only], disks=[root["id"], swap["id"]]) == (both, ["only-swap"])


def test_a_clone_that_cannot_be_is_refused(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web")
    address = f"{URL}/{own}/clone"
    answer = alice.post(address, json={})
    assert [(error["field"], error["reason"]) for error in answer.json()["errors"]] == [
        ("region", "region is required"),
        ("type", "type is required"),
    ]
    target = create(alice)["id"]
    for field, value in (("region", "us-east"), ("type", "g6-nanode-1"), ("label", "x1x"), ("backups_enabled", True)):
        refused(
            alice.post(address, json={"compute_id": target, field: value}), "Cannot be combined with compute_id", field
        )
    for body, reason, field in (
        ({**NEW, "region": "moon"}, "region is not valid", "region"),
        ({**NEW, "type": "none"}, "A valid plan type by that ID was not found", "type"),
        ({**NEW, "label": "web"}, "Label must be unique among your Computes", "label"),
        ({**NEW, "label": "a--b"}, "Must not have two dashes, underscores or periods in a row", "label"),
        ({**NEW, "disks": [4711]}, "disks is not valid", "disks"),
        ({**NEW, "configs": [4711]}, "configs is not valid", "configs"),
        ({"compute_id": own}, ONTO_ITSELF, "compute_id"),
    ):
        refused(alice.post(address, json=body), reason, field)
    for body in ({**NEW, "type": "g6-nanode-1"}, {"compute_id": deploy(cloud, alice, booted=False)}):
        answer = alice.post(address, json=body)
        assert (answer.status_code, "Insufficient space" in answer.text) == (400, True)
    answer = alice.post(address, json={"compute_id": deploy(cloud, alice)})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "compute_id")
    assert events(alice, "compute_clone") == []


def test_all_that_is_wrong_with_a_clone_is_told(cloud: Cloud, alice: Client) -> None:
    own, target = deploy(cloud, alice, label="web"), create(alice)["id"]
    place = [("region", "region is not valid"), ("type", "A valid plan type by that ID was not found")]
    taken = ("label", "Label must be unique among your Computes")
    no_disk, no_config = ("disks", "disks is not valid"), ("configs", "configs is not valid")
    both = "Cannot be combined with compute_id"
    nothing = {"disks": [4711], "configs": [4711]}
    for body, problems in (
        ({"region": "x", "type": "y", "configs": [4711]}, [*place, no_config]),
        ({"region": "x"}, [place[0], ("type", "type is required")]),
        ({**NEW, "label": "web", "disks": [4711]}, [taken, no_disk]),
        ({"region": "x", "type": "y", "label": "web", **nothing}, [*place, taken, no_disk, no_config]),
        ({"compute_id": target, "region": "us-east", "configs": [4711]}, [("region", both), no_config]),
        ({"compute_id": target, "label": "web", **nothing}, [("label", both), no_disk, no_config]),
        ({"compute_id": own, **nothing}, [("compute_id", ONTO_ITSELF), no_disk, no_config]),
        ({"compute_id": "x", "configs": [4711]}, [("compute_id", "Must be of type Integer"), no_config]),
        ({**NEW, "label": "web", "group": 7}, [taken, ("group", "Must be of type String")]),
    ):
        answer = alice.post(f"{URL}/{own}/clone", json=body)
        assert (answer.status_code, errors(answer)) == (400, problems), body


def test_a_private_network_and_all_else_that_is_wrong_with_a_clone_are_told(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web", region="us-southeast", interfaces=[{"purpose": "vlan", "label": "inside"}])
    body = {"region": "us-east", "type": "g6-standard-2", "label": "web"}
    assert errors(alice.post(f"{URL}/{own}/clone", json=body)) == [
        ("region", "VLANs are not available in this region"),
        ("label", "Label must be unique among your Computes"),
    ]


def test_neither_a_busy_source_nor_a_busy_target_is_cloned(cloud: Cloud, alice: Client) -> None:
    own, target = deploy(cloud, alice), create(alice, type="g6-standard-4")["id"]
    cloud.freeze()
    act(alice, target, "disks", label="x", size=1)
    answer = alice.post(f"{URL}/{own}/clone", json={"compute_id": target})
    assert (answer.status_code, answer.json()) == (400, BUSY)
    act(alice, own, "reboot")
    answer = alice.post(f"{URL}/{own}/clone", json=NEW)
    assert (answer.status_code, answer.json()) == (400, BUSY)
    answer = alice.post(f"{URL}/{own}/clone", json={**NEW, "region": "moon"})  # the body is validated first
    refused(answer, "region is not valid", "region")


def test_five_clones_at_once_are_enough(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    for _ in range(5):
        act(alice, own, "clone", **NEW)
    assert alice.post(f"{URL}/{own}/clone", json=NEW).status_code == 400
    assert alice.get(URL).json()["results"] == 6
    cloud.settle()
    assert {status(alice, instance["id"]) for instance in alice.get(URL).json()["data"]} == {"running", "offline"}
    act(alice, own, "clone", **NEW)


@pytest.mark.parametrize("target", ["new", "existing"])
def test_a_clone_that_fails_leaves_nothing_on_the_target(cloud: Cloud, alice: Client, target: str) -> None:
    own = deploy(cloud, alice)
    body: dict[str, Any] = NEW if target == "new" else {"compute_id": create(alice)["id"]}
    transitions(cloud, compute_clone={"fail": "The link is down."})
    made = act(alice, own, "clone", **body)["id"]
    cloud.settle()
    event = last(alice, "compute_clone")
    assert (event["status"], event["message"]) == ("failed", "The link is down.")
    assert (status(alice, made), disks(alice, made), configs(alice, made)) == ("offline", [], [])
    assert (status(alice, own), len(disks(alice, own))) == ("running", 2)


def test_a_private_network_comes_along_only_where_there_are_some(cloud: Cloud, alice: Client) -> None:
    interfaces = [{"purpose": "vlan", "label": "inside"}]
    own = deploy(cloud, alice, region="us-southeast", interfaces=interfaces)
    answer = alice.post(f"{URL}/{own}/clone", json=NEW)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "region")
    made = act(alice, own, "clone", region="ca-central", type="g6-standard-1")["id"]
    cloud.settle()
    act(alice, made, "boot")
    cloud.settle()
    assert status(alice, made) == "running"


def test_a_restricted_user_needs_both_rights(cloud: Cloud, alice: Client) -> None:
    own, target = deploy(cloud, alice, tags=["blue"]), create(alice)["id"]
    bob = restricted(cloud, "bob", of="alice", compute={own: "read_write"})
    dave = restricted(cloud, "dave", of="alice", globally={"add_computes": True}, compute={own: "read_only"})
    for person, body in ((bob, NEW), (bob, {}), (bob, {"compute_id": target}), (dave, NEW)):
        answer = person.post(f"{URL}/{own}/clone", json=body)
        assert (answer.status_code, answer.json()) == (403, UNAUTHORIZED)
    erin = restricted(cloud, "erin", of="alice", globally={"add_computes": True}, compute={own: "read_write"})
    denied = "You do not have permission to access this Compute"
    refused(erin.post(f"{URL}/{own}/clone", json={"compute_id": target}), denied, "compute_id", 403)
    carol = restricted(
        cloud, "carol", of="alice", globally={"add_computes": True}, compute={own: "read_write", target: "read_write"}
    )
    made = carol.post(f"{URL}/{own}/clone", json=NEW).json()
    assert made["tags"] == ["blue"]
    assert carol.put(f"{URL}/{made['id']}", json={"label": "mine"}).status_code == 200
    assert carol.post(f"{URL}/{own}/clone", json={"compute_id": target}).status_code == 200
