"""A tick: the clock goes to where something falls due, and one step of one operation is done."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import create, status

IMAGE = {"image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}


def tick(cloud: Cloud) -> dict[str, Any]:
    answer = cloud.sandbox.post("/_sandbox/clock/tick")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.fixture
def frozen(cloud: Cloud) -> Cloud:
    assert cloud.sandbox.post("/_sandbox/clock/freeze").status_code == 200
    return cloud


@pytest.mark.both
def test_ticks_walk_through_an_operation_step_by_step(frozen: Cloud, alice: Client) -> None:
    made = create(alice, booted=False, **IMAGE)
    event = alice.get("/v4/account/events").json()["data"][0]
    seen = []
    for _ in range(50):
        result = tick(frozen)
        assert set(result) == {"now", "operation"}
        operation = result["operation"]
        assert (operation["id"], operation["action"]) == (event["id"], "compute_create")
        seen.append(operation["step"])
        if operation["done"]:
            break
        assert status(alice, made["id"]) == "provisioning"
    assert len(dict.fromkeys(seen)) > 2, seen
    assert status(alice, made["id"]) == "offline"
    assert alice.get(f"/v4/account/events/{event['id']}").json()["status"] == "finished"


def test_each_tick_is_one_step_of_one_operation(frozen: Cloud, alice: Client) -> None:
    for _ in range(2):
        create(alice, booted=False, **IMAGE)
    frozen.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 5}})
    first = [tick(frozen)["operation"]["id"] for _ in range(3)]
    running = [event["percent_complete"] for event in alice.get("/v4/account/events").json()["data"]]
    assert max(running) < 100
    assert len(first) == 3
    ids = {tick(frozen)["operation"]["id"] for _ in range(20)}
    assert len(ids) == 2


def test_a_tick_with_nothing_due_leaves_the_clock_where_it_is(frozen: Cloud) -> None:
    before = frozen.sandbox.get("/_sandbox/clock").json()["now"]
    assert tick(frozen) == {"now": before, "operation": None}
    assert frozen.sandbox.get("/_sandbox/clock").json() == {"now": before, "mode": "frozen"}


def test_a_running_clock_does_not_tick_on_request(cloud: Cloud) -> None:
    refused = cloud.sandbox.post("/_sandbox/clock/tick")
    assert (refused.status_code, refused.json()["errors"]) == (400, [{"reason": "The clock runs; freeze it first"}])


def test_a_failure_is_the_last_step(frozen: Cloud, alice: Client) -> None:
    frozen.sandbox.put("/_sandbox/transitions", json={"compute_create": {"fail": "no more hosts"}})
    create(alice, booted=False, **IMAGE)
    while not (operation := tick(frozen)["operation"])["done"]:
        assert operation["action"] == "compute_create"
    assert alice.get("/v4/account/events").json()["data"][0]["status"] == "failed"
    assert tick(frozen)["operation"] is None


def test_a_failed_move_shows_its_failure_when_the_instance_runs_again(cloud: Cloud, alice: Client) -> None:
    made = create(alice, **IMAGE)
    cloud.settle()
    cloud.freeze()
    cloud.sandbox.put("/_sandbox/transitions", json={"compute_resize": {"seconds": 10, "fail": "no", "fail_at": 40}})
    path = f"/v4/compute/instances/{made['id']}"
    assert alice.post(f"{path}/resize", json={"type": "g6-standard-2"}).status_code == 200
    statuses, percents = [], []
    while not tick(cloud)["operation"]["done"]:
        event = alice.get("/v4/account/events").json()["data"][0]
        statuses.append(status(alice, made["id"]))
        percents.append(event["percent_complete"])
        assert event["status"] == "started"
    assert "migrating" in statuses
    assert percents == sorted(percents)
    event = alice.get("/v4/account/events").json()["data"][0]
    assert (event["status"], event["message"], event["percent_complete"]) == ("failed", "no", 40)
    assert (percents[-1], status(alice, made["id"])) == (max(percents), "running")
    assert alice.post(f"{path}/reboot").status_code == 200
