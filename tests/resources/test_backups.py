"""Backups of an instance through HTTP: snapshots, the daily ones, their slots and their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from httpx2 import Client

from crofter import clock
from crofter.resources.instances import hypervisor_client
from tests.cloud import Cloud
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
    refused,
    transitions,
    view,
)
from tests.resources.money import stand_at, until

URL = "/v4/compute/instances"
DAY = 24 * 3600


def backups(client: Client, own: int) -> dict[str, Any]:
    answer = client.get(f"{URL}/{own}/backups")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def ages(client: Client, own: int, now: int) -> list[int]:
    """The automatic backups by their age in whole days, newest first."""
    return [(now - clock.parse(backup["created"])) // clock.DAY for backup in backups(client, own)["automatic"]]


def to_the_twentieth(cloud: Cloud) -> None:
    """On to eight o'clock of the next twentieth of a month."""
    now = datetime.fromtimestamp(cloud.runtime.clock.now() / 1000, UTC)
    then = now.replace(day=20, hour=8, minute=0, second=0, microsecond=0)
    while then <= now:
        then = (then + timedelta(days=31)).replace(day=20)
    cloud.advance((then - now).total_seconds())


@pytest.mark.both
def test_a_snapshot_is_taken_and_replaced(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    assert backups(alice, own) == {"automatic": [], "snapshot": {"current": None, "in_progress": None}}
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/backups", json={"label": "first"})
    made = answer.json()
    assert (answer.status_code, made) == (
        200,
        {
            "available": False,
            "configs": [],
            "created": made["created"],
            "disks": [],
            "finished": None,
            "id": made["id"],
            "label": "first",
            "region": "us-east",
            "status": "pending",
            "type": "snapshot",
            "updated": made["created"],
        },
    )
    assert backups(alice, own)["snapshot"] == {"current": None, "in_progress": made}
    event = last(alice, "compute_snapshot")
    assert (event["status"], event["percent_complete"], event["secondary_entity"]) == ("scheduled", 0, None)
    assert entity(event["entity"])[:2] == ("compute", own)  # type: ignore[index]
    cloud.advance(0.5)
    assert backups(alice, own)["snapshot"]["in_progress"]["status"] == "running"
    assert view(alice, own)["status"] == "running"
    cloud.settle()
    done = alice.get(f"{URL}/{own}/backups/{made['id']}").json()
    assert (done["status"], done["available"], done["finished"] >= made["created"]) == ("successful", True, True)
    assert done["configs"] == [config["label"] for config in configs(alice, own)]
    root, swap = disks(alice, own)
    assert [(disk["label"], disk["filesystem"]) for disk in done["disks"]] == [
        (root["label"], "ext4"),
        (swap["label"], "swap"),
    ]
    assert 0 < done["disks"][0]["size"] < root["size"]
    assert done["disks"][1]["size"] == 0
    assert view(alice, own)["backups"]["last_successful"] == done["finished"]
    assert backups(alice, own)["snapshot"] == {"current": done, "in_progress": None}
    second = act(alice, own, "backups", label="second")
    both = backups(alice, own)["snapshot"]
    assert (both["current"]["id"], both["in_progress"]["id"]) == (done["id"], second["id"])
    cloud.settle()
    assert backups(alice, own)["snapshot"]["current"]["id"] == second["id"]
    assert alice.get(f"{URL}/{own}/backups/{done['id']}").status_code == 404
    assert [backup.id for backup in hypervisor_client.hypervisor(cloud.runtime).list().backups] == [second["id"]]


def test_a_snapshot_needs_backups_a_label_and_an_idle_instance(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    none = "Backups must be enabled for this Compute before a snapshot can be taken."
    refused(alice.post(f"{URL}/{own}/backups", json={"label": "x"}), none)
    act(alice, own, "backups/enable")
    refused(alice.post(f"{URL}/{own}/backups", json={}), "label is required", "label")
    for label in ("", "x" * 256):
        refused(alice.post(f"{URL}/{own}/backups", json={"label": label}), "Length must be 1-255 characters", "label")
    cloud.freeze()
    act(alice, own, "backups", label="x" * 255)
    answer = alice.post(f"{URL}/{own}/backups", json={"label": "again"})
    assert (answer.status_code, answer.json()) == (400, BUSY)
    assert len(events(alice, "compute_snapshot")) == 1


@pytest.mark.parametrize(
    ("why", "message"),
    [
        ("driver", "The pool is full."),
        ("raw", "A disk has a file system that cannot be backed up."),
        ("empty", "The instance has no disks to back up."),
    ],
)
def test_a_snapshot_that_fails_leaves_the_old_one(cloud: Cloud, alice: Client, why: str, message: str) -> None:
    if why == "empty":
        own = create(alice, backups_enabled=True)["id"]
    else:
        own = deploy(cloud, alice, backups_enabled=True, booted=False, type="g6-nanode-1")
        act(alice, own, "resize", type="g6-standard-1", allow_auto_disk_resize=False)
        cloud.settle()
        act(alice, own, "backups", label="good")
        cloud.settle()
    if why == "raw":
        act(alice, own, "disks", label="raw", size=10, filesystem="raw")
        cloud.settle()
    if why == "driver":
        transitions(cloud, compute_snapshot={"fail": "The pool is full."})
    made = act(alice, own, "backups", label="bad")["id"]
    cloud.settle()
    event = last(alice, "compute_snapshot")
    assert (event["status"], event["message"]) == ("failed", message)
    assert alice.get(f"{URL}/{own}/backups/{made}").json()["status"] == "failed"
    shown = backups(alice, own)["snapshot"]
    assert shown["in_progress"] is None
    assert (shown["current"] is None) == (why == "empty")


def test_enabling_backups_begins_scheduling(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = create(alice)["id"]
    assert alice.post(f"{URL}/{own}/backups/enable").json() == {}
    shown = view(alice, own)["backups"]
    assert (shown["enabled"], shown["schedule"]) == (True, {"day": "Scheduling", "window": "Scheduling"})
    event = last(alice, "backups_enable")
    assert (event["status"], event["entity"]["id"], event["percent_complete"]) == ("notification", own, None)
    refused(alice.post(f"{URL}/{own}/backups/enable"), "Backups are already enabled for this Compute.")
    assert len(events(alice, "backups_enable")) == 1
    cloud.advance(600)
    chosen = view(alice, own)["backups"]["schedule"]
    assert "Scheduling" not in chosen.values()
    assert None not in chosen.values()
    # After "Scheduling" the server chooses again.
    sent = {"backups": {"schedule": {"window": "Scheduling"}}}
    assert alice.put(f"{URL}/{own}", json=sent).json()["backups"]["schedule"]["window"] == "Scheduling"
    cloud.advance(600)
    assert view(alice, own)["backups"]["schedule"] == chosen
    for name in ("day", "window"):  # to unset it says the same
        alice.put(f"{URL}/{own}", json={"backups": {"schedule": {"day": "Friday", "window": "W10"}}})
        unset = alice.put(f"{URL}/{own}", json={"backups": {"schedule": {name: None}}}).json()["backups"]["schedule"]
        assert unset == {"day": "Friday", "window": "W10"} | {name: "Scheduling"}


def test_a_time_that_the_owner_has_chosen_is_kept(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = create(alice, backups_enabled=True)["id"]
    alice.put(f"{URL}/{own}", json={"backups": {"schedule": {"window": "W10"}}})
    cloud.advance(600)
    shown = view(alice, own)["backups"]["schedule"]
    assert shown["window"] == "W10"
    assert shown["day"].endswith("day")


def test_cancelling_deletes_everything_for_good_and_for_a_day(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    made = act(alice, own, "backups", label="x")["id"]
    cloud.freeze()
    answer = alice.post(f"{URL}/{own}/backups/cancel")
    assert (answer.status_code, answer.json()) == (400, BUSY)
    cloud.settle()
    act(alice, own, "reboot")  # a job of another kind does not matter
    assert alice.post(f"{URL}/{own}/backups/cancel").json() == {}
    assert view(alice, own)["backups"] == {
        "available": False,
        "enabled": False,
        "last_successful": None,
        "schedule": {"day": None, "window": None},
    }
    assert alice.get(f"{URL}/{own}/backups/{made}").status_code == 404
    assert backups(alice, own) == {"automatic": [], "snapshot": {"current": None, "in_progress": None}}
    event = last(alice, "backups_cancel")
    assert (event["status"], event["entity"]["id"]) == ("notification", own)
    cloud.settle()
    assert hypervisor_client.hypervisor(cloud.runtime).list().backups == ()
    refused(alice.post(f"{URL}/{own}/backups/cancel"), "Backups are not enabled for this Compute.")
    too_soon = "Backups were cancelled less than 24 hours ago. Please try again later."
    refused(alice.post(f"{URL}/{own}/backups/enable"), too_soon)
    cloud.advance(DAY - 60)
    refused(alice.post(f"{URL}/{own}/backups/enable"), too_soon)
    cloud.advance(120)
    assert alice.post(f"{URL}/{own}/backups/enable").json() == {}


def test_backups_are_taken_daily_in_their_window_and_fill_three_slots(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = deploy(cloud, alice, backups_enabled=True)
    alice.put(f"{URL}/{own}", json={"backups": {"schedule": {"day": "Wednesday", "window": "W4"}}})
    to_the_twentieth(cloud)  # the end of a month is on the way
    seen = []
    for day in range(23):
        if day == 3:
            act(alice, own, "shutdown")
        elif day == 6:
            act(alice, own, "boot")
        elif day == 9:
            transitions(cloud, compute_reboot={"seconds": 22 * 3600})  # through its window
            act(alice, own, "reboot")
        cloud.advance(DAY)
        now = cloud.runtime.clock.now()
        shown = backups(alice, own)["automatic"]
        seen.append(len(shown))
        assert all(backup["type"] == "auto" and backup["status"] == "successful" for backup in shown)
        assert all(4 <= int(backup["created"][11:13]) < 6 for backup in shown)
        days_ago = ages(alice, own, now)
        assert days_ago[0] == 0
        assert days_ago == sorted(days_ago)
        assert all(age <= 14 for age in days_ago)
    assert max(seen) == 3
    assert seen[-7:].count(3) >= 5
    days = {clock.parse(backup["created"]) // clock.DAY % 7 for backup in backups(alice, own)["automatic"][1:]}
    assert len(days) == 1  # the older ones are of the preferred day
    assert events(alice, "compute_snapshot") == []
    assert view(alice, own)["backups"]["last_successful"] == backups(alice, own)["automatic"][0]["finished"]
    assert len(hypervisor_client.hypervisor(cloud.runtime).list().backups) == len(backups(alice, own)["automatic"])


def test_the_backup_of_the_day_waits_its_turn_and_no_second_one_behind_it(cloud: Cloud, alice: Client) -> None:
    stand_at(cloud, "2030-01-10T12:00:00")
    own = deploy(cloud, alice, backups_enabled=True)
    alice.put(f"{URL}/{own}", json={"backups": {"schedule": {"day": "Monday", "window": "W4"}}})
    transitions(cloud, compute_reboot={"seconds": 54 * 3600})
    act(alice, own, "reboot")
    cloud.advance(51 * 3600)
    assert view(alice, own)["status"] == "rebooting"
    assert backups(alice, own)["automatic"] == []
    transitions(cloud)
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM backup").fetchone()[0] == 1
    assert len(backups(alice, own)["automatic"]) == 1


def test_a_region_that_is_away_piles_up_no_backups(cloud: Cloud, alice: Client) -> None:
    stand_at(cloud, "2030-01-10T03:50:00")
    away, here = (deploy(cloud, alice, region=region, backups_enabled=True) for region in ("us-east", "us-west"))
    for own in (away, here):
        alice.put(f"{URL}/{own}", json={"backups": {"schedule": {"day": "Monday", "window": "W4"}}})
    until(cloud, "2030-01-11T04:00:00")
    cloud.fault("region_outage", region="us-east")
    until(cloud, "2030-01-12T05:00:00")
    assert taken(cloud, away) == ["done", "waiting"]
    assert taken(cloud, here) == ["done"] * 3  # queued jobs block no others
    [before] = backups(alice, away)["automatic"]
    cloud.fault("region_back", region="us-east")
    assert cloud.settle() == 1
    assert taken(cloud, away) == ["done"] * 2
    late, early = backups(alice, away)["automatic"]
    assert (early, late["status"], late["finished"][:13]) == (before, "successful", "2030-01-12T05")
    until(cloud, "2030-01-13T05:00:00")
    assert taken(cloud, away) == ["done"] * 3
    assert backups(alice, away)["automatic"][0]["created"][:13] == "2030-01-13T04"


def taken(cloud: Cloud, own: int) -> list[str]:
    """How far each of the automatic backups of an instance has come, of all that ever were."""
    with cloud.runtime.database.read() as db:
        rows = db.raw("SELECT state, key FROM operation WHERE kind = 'backups_automatic' ORDER BY id").fetchall()
    return [state for state, key in rows if key == f"compute:{own}"]


def test_backups_that_fail_every_day_are_not_piled_up(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    create(alice, backups_enabled=True)
    cloud.advance(5 * DAY)
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM backup").fetchone()[0] == 1
