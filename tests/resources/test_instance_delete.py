"""Deletion of instances through HTTP: at any time, without leftovers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client

from crofter.resources.instances import hypervisor_client, sweeping
from crofter.resources.volumes.store import volume
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.resources.compute import (
    IMAGE,
    NOT_FOUND,
    PASSWORD,
    act,
    configs,
    create,
    deploy,
    disks,
    entity,
    events,
    last,
    status,
    transitions,
    view,
)

URL = "/v4/compute/instances"


def nothing_left(cloud: Cloud) -> bool:
    inventory = hypervisor_client.hypervisor(cloud.runtime).list()
    return not (inventory.domains or inventory.disks or inventory.backups)


def count(cloud: Cloud, table: str) -> int:
    with cloud.runtime.database.read() as db:
        return int(db.raw(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.both
def test_everything_goes_with_it(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob", of="alice", globally={"add_computes": True})
    own = create(bob, image=IMAGE, root_pass=PASSWORD, backups_enabled=True, private_ip=True)["id"]
    cloud.settle()
    act(alice, own, "backups", label="now")
    cloud.settle()
    alice.put(f"{URL}/{own}", json={"tags": ["blue"], "label": "web"})
    cloud.freeze()
    assert alice.delete(f"{URL}/{own}").json() == {}
    assert status(alice, own) == "deleting"
    event = last(alice, "compute_delete")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    cloud.settle()
    for path in ("", "/disks", "/configs", "/backups", "/ips"):
        answer = alice.get(f"{URL}/{own}{path}")
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
    event = last(alice, "compute_delete")
    assert (event["status"], event["percent_complete"]) == ("finished", 100)
    assert entity(event["entity"]) == ("compute", own, "web", f"{URL}/{own}")
    for table in ("instance", "disk", "config", "backup", "address", "tagged", "user_grant"):
        assert count(cloud, table) == 0, table
    assert nothing_left(cloud)
    assert bob.get(URL).json()["results"] == 0
    assert count(cloud, "released_address") == 2
    with cloud.runtime.database.read() as db:
        assert db.raw(f"SELECT count(*) FROM schedule WHERE name = 'backup:{own}'").fetchone()[0] == 0


def test_an_empty_instance_goes_too(cloud: Cloud, alice: Client) -> None:
    own = create(alice)["id"]
    assert alice.delete(f"{URL}/{own}").status_code == 200
    cloud.settle()
    assert alice.get(f"{URL}/{own}").status_code == 404


def test_deleting_twice_is_deleting_once(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    assert alice.delete(f"{URL}/{own}").json() == alice.delete(f"{URL}/{own}").json() == {}
    cloud.settle()
    assert len(events(alice, "compute_delete")) == 1
    assert alice.delete(f"{URL}/{own}").status_code == 404


def test_its_volumes_are_detached_and_told_of(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web")
    with cloud.runtime.database.write() as db:
        account = db.raw(f"SELECT account_id FROM instance WHERE id = {own}").fetchone()[0]
        then = {"created": "2026-01-01T00:00:00", "updated": "2026-01-01T00:00:00"}
        common = {"account_id": account, "size": 20, "region": "us-east", "status": "active", **then}
        kept = db.insert(volume, label="data", instance_id=own, **common)
        db.insert(volume, label="spare", instance_id=None, **common)
    alice.delete(f"{URL}/{own}")
    cloud.settle()
    (event,) = events(alice, "volume_detach")
    assert (event["status"], event["percent_complete"]) == ("notification", None)
    assert entity(event["entity"]) == ("volume", kept, "data", f"/v4/volumes/{kept}")
    assert entity(event["secondary_entity"]) == ("compute", own, "web", f"{URL}/{own}")


def _create(cloud: Cloud, client: Client) -> int:
    return int(create(client, image=IMAGE, root_pass=PASSWORD)["id"])


def _after(path: str, booted: bool = True, **body: Any) -> Callable[[Cloud, Client], int]:
    def begin(cloud: Cloud, client: Client) -> int:
        own = deploy(cloud, client, booted=booted, backups_enabled=True, type="g6-nanode-1")
        act(client, own, "resize", type="g6-standard-1", allow_auto_disk_resize=False)  # fits the plan
        cloud.settle()
        act(client, own, "backups", label="before")
        cloud.settle()
        numbers = {"disk": disks(client, own)[-1]["id"], "own": own}
        numbers["backup"] = client.get(f"{URL}/{own}/backups").json()["snapshot"]["current"]["id"]
        cloud.freeze()
        sent = {name: own if value == "own" else value for name, value in body.items()}
        act(client, own, path.format(**numbers), **sent)
        return own

    return begin


def _clone_target(cloud: Cloud, client: Client) -> int:
    source = deploy(cloud, client)
    cloud.freeze()
    return int(act(client, source, "clone", region="us-west", type="g6-standard-1")["id"])


JOBS: dict[str, Callable[[Cloud, Client], int]] = {
    "create": _create,
    "boot": _after("boot", booted=False),
    "reboot": _after("reboot"),
    "shutdown": _after("shutdown"),
    "rescue": _after("rescue"),
    "rebuild": _after("rebuild", image=IMAGE, root_pass=PASSWORD),
    "resize": _after("resize", type="g6-standard-2"),
    "migrate": _after("migrate", region="us-west"),
    "snapshot": _after("backups", label="again"),
    "restore": _after("backups/{backup}/restore", compute_id="own", overwrite=True),
    "disk create": _after("disks", image=IMAGE, root_pass=PASSWORD, size=5000),
    "disk clone": _after("disks/{disk}/clone", booted=False),
    "disk resize": _after("disks/{disk}/resize", booted=False, size=100),
    "password": _after("password", booted=False, root_pass=PASSWORD),
    "clone": _clone_target,
}


@pytest.mark.parametrize("seconds", [0, 1.5, 2.6])
@pytest.mark.parametrize("job", JOBS)
def test_whatever_is_going_on(cloud: Cloud, alice: Client, job: str, seconds: float) -> None:
    transitions(cloud, **{"*": {"seconds": 3}})
    cloud.freeze()
    own = JOBS[job](cloud, alice)
    before = len(events(alice))
    if seconds:
        cloud.advance(seconds)
    assert alice.delete(f"{URL}/{own}").status_code == 200
    assert status(alice, own) == "deleting"
    for _ in range(40):
        cloud.advance(0.25)
        if alice.get(f"{URL}/{own}").status_code == 404:
            break
        assert status(alice, own) == "deleting"
    cloud.settle()
    assert alice.get(f"{URL}/{own}").status_code == 404
    ended = {event["status"] for event in events(alice)}
    assert ended <= {"finished", "failed", "notification"}
    (delete_event,) = events(alice, "compute_delete")
    assert delete_event["status"] == "finished"
    assert len(events(alice)) == before + 1
    report = sweeping.reconcile(cloud.runtime)
    assert (report.orphans, report.missing, report.misplaced, report.stuck) == ([], [], [], [])
    if job != "clone":
        assert nothing_left(cloud)


def test_a_deletion_that_fails_can_be_tried_again(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    transitions(cloud, compute_delete={"fail": "The host refused."})
    alice.delete(f"{URL}/{own}")
    cloud.settle()
    event = last(alice, "compute_delete")
    assert (event["status"], event["message"]) == ("failed", "The host refused.")
    assert status(alice, own) == "running"
    assert len(disks(alice, own)) == 2
    assert len(configs(alice, own)) == 1
    transitions(cloud)
    alice.delete(f"{URL}/{own}")
    cloud.settle()
    assert alice.get(f"{URL}/{own}").status_code == 404


def test_a_deletion_waits_for_a_region_that_is_away(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    alice.delete(f"{URL}/{own}")
    cloud.advance(600)
    assert status(alice, own) == "deleting"
    cloud.fault("region_back", region="us-east")
    cloud.settle()
    assert alice.get(f"{URL}/{own}").status_code == 404


def test_nothing_else_can_be_done_meanwhile(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    address = view(alice, own)["ipv4"][0]
    cloud.freeze()
    alice.delete(f"{URL}/{own}")
    for path, body in (("boot", {}), ("reboot", {}), ("shutdown", {}), ("ips", {"type": "ipv4", "public": False})):
        answer = alice.post(f"{URL}/{own}/{path}", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["reason"]) == (400, "Compute busy."), path
    assert alice.delete(f"{URL}/{own}/ips/{address}").status_code == 400
    cloud.settle()
    assert count(cloud, "address") == 0
