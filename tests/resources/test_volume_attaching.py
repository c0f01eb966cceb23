"""Volumes and instances: attaching, booting, moving, deleting, and all of that at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.at_once import at_once
from tests.cloud import Cloud
from tests.resources.compute import (
    BUSY,
    INSTANCES,
    act,
    configs,
    create,
    deploy,
    events,
    last,
    listed,
    refused,
    status,
    transitions,
)
from tests.resources.test_volumes import URL, VOLUME_BUSY, do, make, new, plugged, show, slots, works
from tests.sweep import violations


def names(client: Client, own: int, **volumes: int) -> None:
    """Let the first profile of an instance name volumes, beside what it has."""
    config = configs(client, own)[0]
    devices = {**slots(client, own), **{slot: {"volume_id": number} for slot, number in volumes.items()}}
    answer = client.put(f"{INSTANCES}/{own}/configs/{config['id']}", json={"devices": devices})
    assert answer.status_code == 200, answer.text


@pytest.mark.both
def test_a_volume_goes_from_one_instance_to_another(cloud: Cloud, alice: Client) -> None:
    first, second, number = deploy(cloud, alice), deploy(cloud, alice), make(cloud, alice)
    shown = works(cloud, do(alice, number, "attach", compute_id=first))
    assert shown["compute_id"] == first
    assert (plugged(cloud, first), slots(alice, first)["sdc"]["volume_id"]) == ((number,), number)
    refused(do(alice, number, "attach", compute_id=second), "This volume is attached to a Compute already.")
    refused(alice.delete(f"{URL}/{number}"), "This volume must be detached before it can be deleted.")
    answer = do(alice, number, "detach")
    assert answer.json() == {}
    works(cloud, answer)
    event = last(alice, "volume_detach")
    assert (event["status"], event["entity"]["id"], event["secondary_entity"]["id"]) == ("finished", number, first)
    assert (plugged(cloud, first), set(slots(alice, first))) == ((), {"sda", "sdb"})
    assert show(alice, number)["compute_id"] is None
    refused(do(alice, number, "detach"), "This volume is not attached to a Compute.")
    works(cloud, do(alice, number, "attach", compute_id=second))
    act(alice, second, "reboot")
    cloud.settle()
    assert plugged(cloud, second) == (number,)
    assert violations(cloud) == []


def test_a_volume_of_another_region_is_refused(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice, region="us-west")
    answer = do(alice, number, "attach", compute_id=own)
    refused(answer, "The Compute is in another region than the volume", "compute_id")


def test_an_instance_has_so_many_volumes_and_slots(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    for number in range(6):
        make(cloud, alice, f"v{number}", compute_id=own)
    assert len(slots(alice, own)) == 8
    refused(new(alice, compute_id=own), "The configuration profile has no free device slot.", "config_id")
    for number in range(6, 8):
        volume = make(cloud, alice, f"v{number}")
        works(cloud, do(alice, volume, "attach", compute_id=own, persist_across_boots=False))
    over = make(cloud, alice, "over")
    answer = do(alice, over, "attach", compute_id=own, persist_across_boots=False)
    refused(answer, "This Compute can have at most 8 volumes attached", "compute_id")
    assert len(plugged(cloud, own)) == 8


def test_a_volume_that_does_not_persist_goes_with_the_next_boot(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    works(cloud, do(alice, number, "attach", compute_id=own, persist_across_boots=False))
    assert (plugged(cloud, own), set(slots(alice, own))) == ((number,), {"sda", "sdb"})
    act(alice, own, "reboot")
    cloud.settle()
    assert (plugged(cloud, own), show(alice, number)["compute_id"]) == ((), None)
    assert last(alice, "volume_detach")["entity"]["id"] == number
    act(alice, own, "shutdown")
    cloud.settle()
    answer = do(alice, number, "attach", compute_id=own, persist_across_boots=False)
    refused(answer, "The Compute must be running", "persist_across_boots")


def test_a_boot_attaches_what_the_profile_names(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice, booted=False), make(cloud, alice)
    names(alice, own, sdc=number)
    assert show(alice, number)["compute_id"] is None
    act(alice, own, "boot")
    cloud.settle()
    assert (show(alice, number)["compute_id"], plugged(cloud, own)) == (own, (number,))
    event = last(alice, "volume_attach")
    assert (event["entity"]["id"], event["secondary_entity"]["id"]) == (number, own)


def test_a_boot_with_a_volume_of_another_instance_fails(cloud: Cloud, alice: Client) -> None:
    own, other, number = deploy(cloud, alice, booted=False), deploy(cloud, alice), make(cloud, alice)
    names(alice, own, sdc=number)
    works(cloud, do(alice, number, "attach", compute_id=other))
    act(alice, own, "boot")
    cloud.settle()
    event = last(alice, "compute_boot")
    assert (event["status"], event["message"]) == ("failed", "Volume data is attached to another Compute.")
    assert status(alice, own) == "offline"
    assert plugged(cloud, other) == (number,)


def test_an_attachment_that_fails_leaves_the_volume_free(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    transitions(cloud, volume_attach={"fail": "No."})
    works(cloud, do(alice, number, "attach", compute_id=own))
    event = last(alice, "volume_attach")
    assert (event["status"], event["message"]) == ("failed", "No.")
    assert (show(alice, number)["compute_id"], set(slots(alice, own))) == (None, {"sda", "sdb"})
    assert violations(cloud) == []


def test_a_detachment_that_fails_leaves_it_attached(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    transitions(cloud, volume_detach={"fail": "No."})
    works(cloud, do(alice, number, "detach"))
    assert last(alice, "volume_detach")["status"] == "failed"
    assert (show(alice, number)["compute_id"], slots(alice, own)["sdc"]["volume_id"]) == (own, number)
    act(alice, own, "reboot")
    cloud.settle()
    assert plugged(cloud, own) == (number,)


def test_volumes_stay_through_a_rebuild(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    act(alice, own, "rebuild", image="compute/debian12", root_pass="correct-horse-battery-9")
    cloud.settle()
    assert (status(alice, own), slots(alice, own)["sdc"]["volume_id"]) == ("running", number)
    assert (plugged(cloud, own), show(alice, number)["compute_id"]) == ((number,), own)
    assert violations(cloud) == []


def test_an_instance_with_a_volume_stays_in_its_region(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    answer = alice.post(f"{INSTANCES}/{own}/migrate", json={"region": "us-west"})
    refused(answer, "Detach all volumes before migrating to another region", "region")
    act(alice, own, "resize", type="g6-standard-2")
    cloud.settle()
    assert (status(alice, own), plugged(cloud, own)) == ("running", (number,))
    works(cloud, do(alice, number, "detach"))
    act(alice, own, "migrate", region="us-west")


def test_an_instance_with_a_volume_stays_in_its_account(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    offer = {"entities": {"computes": [own]}}
    answer = alice.post("/v4/account/service-transfers", json=offer)
    assert answer.status_code == 400
    assert [error["reason"] for error in answer.json()["errors"]] == [f"Compute {own} has volumes attached"]
    works(cloud, do(alice, number, "detach"))
    assert alice.post("/v4/account/service-transfers", json=offer).status_code == 200


def test_deleting_an_instance_frees_its_volumes(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    alice.delete(f"{INSTANCES}/{own}")
    cloud.settle()
    assert show(alice, number)["compute_id"] is None
    assert [event["entity"]["id"] for event in events(alice, "volume_detach")] == [number]
    assert violations(cloud) == []


# ---- at once --------------------------------------------------------------------------------------------------------


def test_of_two_instances_one_gets_the_volume(cloud: Cloud, alice: Client) -> None:
    first, second, number = deploy(cloud, alice), deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    answers = at_once(*(lambda own=own: do(alice, number, "attach", compute_id=own) for own in (first, second)))
    assert sorted(answer.status_code for answer in answers) == [200, 400]
    cloud.settle()
    held = show(alice, number)["compute_id"]
    assert {first: plugged(cloud, first), second: plugged(cloud, second)}[held] == (number,)
    assert violations(cloud) == []


@pytest.mark.parametrize("verb", ["attach", "detach"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("reboot", {}),
        ("shutdown", {}),
        ("rebuild", {"image": "compute/debian12", "root_pass": "correct-horse-battery-9"}),
        ("resize", {"type": "g6-standard-2"}),
    ],
)
def test_of_a_volume_and_a_job_of_its_instance_one_waits(
    cloud: Cloud, alice: Client, verb: str, path: str, body: dict[str, Any]
) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own) if verb == "detach" else make(cloud, alice)
    cloud.freeze()
    calls: list[Callable[[], Response]] = [
        lambda: do(alice, number, verb, compute_id=own),
        lambda: alice.post(f"{INSTANCES}/{own}/{path}", json=body),
    ]
    answers = at_once(*calls)
    lost = [answer.json() for answer in answers if answer.status_code != 200]
    assert lost == [BUSY] or (verb == "attach" and lost == [])  # an attachment that comes second waits
    cloud.settle()
    assert violations(cloud) == []


# ---- instances under way --------------------------------------------------------------------------------------------

REBUILD = {"image": "compute/debian12", "root_pass": "correct-horse-battery-9"}
UNDER_WAY: list[tuple[str, dict[str, Any]]] = [
    ("reboot", {}),
    ("rebuild", REBUILD),
    ("resize", {"type": "g6-standard-2"}),
    ("backups", {"label": "x"}),
]


@pytest.mark.parametrize("created", [False, True], ids=["attached", "created"])
@pytest.mark.parametrize(("path", "body"), UNDER_WAY, ids=[path for path, _ in UNDER_WAY])
def test_an_attachment_waits_for_what_is_under_way(
    cloud: Cloud, alice: Client, path: str, body: dict[str, Any], created: bool
) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    number = None if created else make(cloud, alice)
    cloud.freeze()
    act(alice, own, path, **body)
    answer = new(alice, compute_id=own) if number is None else do(alice, number, "attach", compute_id=own)
    assert answer.status_code == 200, answer.text
    number = answer.json()["id"]
    assert last(alice, "volume_create" if created else "volume_attach")["status"] == "scheduled"
    cloud.settle()
    assert (plugged(cloud, own), slots(alice, own)["sdc"]["volume_id"]) == ((number,), number)
    assert last(alice, "volume_attach")["status"] == "finished"
    assert violations(cloud) == []


@pytest.mark.both
@pytest.mark.parametrize("persistent", [True, False])
def test_a_volume_is_attached_to_an_instance_that_is_being_created(
    cloud: Cloud, alice: Client, persistent: bool
) -> None:
    number = make(cloud, alice)
    cloud.freeze()
    own = create(alice, image="compute/debian12", root_pass="correct-horse-battery-9")["id"]
    answer = do(alice, number, "attach", compute_id=own, persist_across_boots=persistent)
    assert answer.status_code == 200, answer.text
    cloud.settle()
    assert (status(alice, own), plugged(cloud, own)) == ("running", (number,))
    assert ("sdc" in slots(alice, own)) == persistent
    assert last(alice, "volume_attach")["status"] == "finished"
    assert violations(cloud) == []


def test_a_passing_attachment_outlives_the_reboot_that_it_waits_for(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    act(alice, own, "reboot")
    answer = do(alice, number, "attach", compute_id=own, persist_across_boots=False)
    assert answer.status_code == 200, answer.text
    cloud.settle()
    assert (show(alice, number)["compute_id"], plugged(cloud, own)) == (own, (number,))


def test_a_volume_does_not_follow_its_instance_to_another_region(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    act(alice, own, "migrate", region="us-west")
    assert do(alice, number, "attach", compute_id=own).status_code == 200
    cloud.settle()
    event = last(alice, "volume_attach")
    assert (event["status"], event["message"]) == ("failed", "The Compute is in another region than the volume.")
    assert (show(alice, number)["compute_id"], status(alice, own)) == (None, "running")
    assert violations(cloud) == []


def test_a_volume_is_not_attached_to_what_is_being_deleted(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    assert alice.delete(f"{INSTANCES}/{own}").status_code == 200
    assert do(alice, number, "attach", compute_id=own).json() == BUSY
    assert new(alice, label="other", compute_id=own).json() == BUSY


def test_an_attachment_that_waits_ends_with_its_instance(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    act(alice, own, "reboot")
    assert do(alice, number, "attach", compute_id=own).status_code == 200
    assert alice.delete(f"{INSTANCES}/{own}").status_code == 200
    cloud.settle()
    assert (show(alice, number)["compute_id"], last(alice, "volume_attach")["status"]) == (None, "failed")
    assert violations(cloud) == []


@pytest.mark.parametrize("seconds", [0, 0.3, 0.8, 1.5])
def test_an_instance_is_deleted_while_a_volume_is_being_made_for_it(
    cloud: Cloud, alice: Client, seconds: float
) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    number = new(alice, compute_id=own).json()["id"]
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": seconds})
    assert alice.delete(f"{INSTANCES}/{own}").status_code == 200
    cloud.settle()
    assert (show(alice, number)["compute_id"], show(alice, number)["status"]) == (None, "active")
    assert violations(cloud) == []


def test_while_a_volume_is_being_made_its_instance_may_be_rebooted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    number = new(alice, compute_id=own).json()["id"]
    assert do(alice, number, "detach").json() == VOLUME_BUSY
    act(alice, own, "reboot")
    cloud.settle()
    assert plugged(cloud, own) == (number,)
    assert violations(cloud) == []


def test_of_a_deletion_and_an_attachment_one_is_refused(cloud: Cloud, alice: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    cloud.freeze()
    calls: list[Callable[[], Response]] = [
        lambda: do(alice, number, "attach", compute_id=own),
        lambda: alice.delete(f"{URL}/{number}"),
    ]
    answers = at_once(*calls)
    assert sorted(answer.status_code for answer in answers) in ([200, 400], [200, 404])
    cloud.settle()
    assert violations(cloud) == []
    assert [volume["compute_id"] for volume in listed(alice, URL)] in ([], [own])


def test_a_volume_grows_while_its_instance_boots(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    cloud.freeze()
    act(alice, own, "reboot")
    assert do(alice, number, "resize", size=30).status_code == 200
    cloud.settle()
    assert (plugged(cloud, own), show(alice, number)["size"]) == ((number,), 30)
    assert violations(cloud) == []
