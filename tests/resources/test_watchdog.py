"""Unordered changes of instances: guests shut down, hosts and regions fail."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import (
    act,
    configs,
    create,
    deploy,
    entity,
    events,
    last,
    refused,
    status,
    transitions,
    view,
)
from tests.resources.money import stand_at

URL = "/v4/compute/instances"


@pytest.mark.both
def test_what_goes_off_by_itself_is_booted_again(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    cloud.fault("power_off", compute_id=own)
    assert status(alice, own) == "booting"
    event = last(alice, "lassie_reboot")
    (config,) = configs(alice, own)
    assert (event["status"], event["percent_complete"], event["username"]) == ("scheduled", 0, None)
    assert entity(event["entity"])[:2] == ("compute", own)  # type: ignore[index]
    assert entity(event["secondary_entity"])[:2] == ("compute_config", config["id"])  # type: ignore[index]
    cloud.settle()
    assert (status(alice, own), last(alice, "lassie_reboot")["status"]) == ("running", "finished")
    assert len(events(alice, "compute_boot")) == 1


def test_the_watchdog_can_be_kept_away(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    assert alice.put(f"{URL}/{own}", json={"watchdog_enabled": False}).json()["watchdog_enabled"] is False
    cloud.fault("power_off", compute_id=own)
    cloud.settle()
    assert (status(alice, own), events(alice, "lassie_reboot")) == ("offline", [])


def test_it_gives_up_after_five_boots_in_a_quarter_of_an_hour(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    for _ in range(5):
        cloud.advance(60)
        cloud.fault("power_off", compute_id=own)
        cloud.advance(10)
        assert status(alice, own) == "running"
    act(alice, own, "reboot")  # only its own boots count
    cloud.settle()
    cloud.fault("power_off", compute_id=own)
    cloud.settle()
    assert (status(alice, own), len(events(alice, "lassie_reboot"))) == ("offline", 5)
    cloud.advance(15 * 60)
    assert status(alice, own) == "offline"  # given up is given up
    act(alice, own, "boot")
    cloud.settle()
    cloud.fault("power_off", compute_id=own)
    cloud.settle()
    assert (status(alice, own), len(events(alice, "lassie_reboot"))) == ("running", 6)


def test_a_shutdown_is_no_accident(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    act(alice, own, "shutdown")
    cloud.settle()
    cloud.advance(7200)
    assert (status(alice, own), events(alice, "lassie_reboot")) == ("offline", [])
    answer = cloud.sandbox.post("/_sandbox/faults", json={"kind": "power_off", "compute_id": own})
    refused(answer, "The machine is not on.", "compute_id")


def test_an_accident_during_a_snapshot_is_seen_to_afterwards(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    cloud.freeze()
    act(alice, own, "backups", label="x")
    cloud.advance(0.5)
    cloud.fault("power_off", compute_id=own)
    cloud.settle()
    assert last(alice, "compute_snapshot")["status"] == "finished"
    assert (status(alice, own), last(alice, "lassie_reboot")["status"]) == ("running", "finished")


def test_a_boot_of_the_watchdog_that_fails_leaves_it_off(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    transitions(cloud, lassie_reboot={"fail": "No."})
    cloud.fault("power_off", compute_id=own)
    cloud.settle()
    assert (status(alice, own), last(alice, "lassie_reboot")["status"]) == ("offline", "failed")


@pytest.mark.parametrize("booted", [True, False])
def test_a_host_in_maintenance_stops_what_is_on_it(cloud: Cloud, alice: Client, booted: bool) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    own = deploy(cloud, alice, booted=booted)
    other = deploy(cloud, alice)
    before = len(events(alice))
    cloud.fault("host_maintenance", compute_id=own)
    assert (status(alice, own), status(alice, other)) == ("stopped", "running")
    cloud.advance(7200)
    assert status(alice, own) == "stopped"
    cloud.fault("host_back", compute_id=own)
    cloud.settle()
    assert status(alice, own) == ("running" if booted else "offline")
    assert len(events(alice)) == before
    act(alice, own, "reboot")
    cloud.settle()
    assert status(alice, own) == "running"


@pytest.mark.parametrize("verb", ["reboot", "shutdown", "rescue"])
@pytest.mark.parametrize("seconds", [0, 0.3, 1.2])
def test_maintenance_in_the_middle_of_a_job(cloud: Cloud, alice: Client, verb: str, seconds: float) -> None:
    own = deploy(cloud, alice)
    transitions(cloud, **{"*": {"seconds": 2}})
    cloud.freeze()
    act(alice, own, verb)
    if seconds:
        cloud.advance(seconds)
    cloud.fault("host_maintenance", compute_id=own)
    cloud.settle()
    assert status(alice, own) == "stopped"
    assert {event["status"] for event in events(alice)} <= {"finished", "failed", "notification"}
    cloud.fault("host_back", compute_id=own)
    cloud.settle()
    assert status(alice, own) in ("running", "offline")
    act(alice, own, "reboot")
    cloud.settle()
    assert status(alice, own) == "running"


def test_maintenance_while_an_instance_is_made(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = create(alice, image="compute/debian11", root_pass="correct-horse-battery-9")["id"]
    cloud.advance(1)
    cloud.fault("host_maintenance", compute_id=own)
    cloud.settle()
    assert status(alice, own) == "stopped"
    cloud.fault("host_back", compute_id=own)
    cloud.settle()
    assert status(alice, own) in ("running", "offline")


def test_clearing_everything_brings_hosts_and_regions_back(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("host_maintenance", compute_id=own)
    cloud.fault("region_outage", region="us-west")
    assert alice.get("/v4/regions/us-west").json()["status"] == "outage"
    assert len(cloud.sandbox.get("/_sandbox/faults").json()) > 0
    assert cloud.sandbox.delete("/_sandbox/faults").status_code == 200
    cloud.settle()
    assert status(alice, own) == "running"
    assert alice.get("/v4/regions/us-west").json()["status"] == "ok"


def test_a_region_that_is_away_changes_no_status(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    cloud.advance(7200)
    assert status(alice, own) == "running"  # unknown is not off
    cloud.fault("region_back", region="us-east")
    assert status(alice, own) == "running"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "power_off", "compute_id": 4711}, "compute_id"),
        ({"kind": "power_off"}, "compute_id"),
        ({"kind": "host_maintenance", "compute_id": 4711}, "compute_id"),
        ({"kind": "region_outage", "region": "moon"}, "region"),
        ({"kind": "migration_pending", "compute_id": 4711}, "compute_id"),
        ({"kind": "maintenance", "compute_id": 4711}, "compute_id"),
    ],
)
def test_faults_of_what_is_not_there_are_refused(
    cloud: Cloud, alice: Client, body: dict[str, object], field: str
) -> None:
    answer = cloud.sandbox.post("/_sandbox/faults", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_an_instance_that_was_never_put_anywhere_has_no_host_to_lose(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    answer = cloud.sandbox.post("/_sandbox/faults", json={"kind": "host_maintenance", "compute_id": own})
    refused(answer, "The Compute is not on a host yet", "compute_id")
    assert view(alice, own)["status"] == "offline"
