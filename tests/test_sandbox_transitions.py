"""How operations go in the sandbox: how long, how often read, and at which percent they fail."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import create, status

IMAGE = {"image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}


@pytest.fixture
def frozen(cloud: Cloud) -> Cloud:
    assert cloud.sandbox.post("/_sandbox/clock/freeze").status_code == 200
    return cloud


def put(cloud: Cloud, **table: Any) -> None:
    answer = cloud.sandbox.put("/_sandbox/transitions", json=table)
    assert answer.status_code == 200, answer.text


def advance(cloud: Cloud, seconds: float) -> None:
    assert cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": seconds}).status_code == 200


def settle(cloud: Cloud) -> None:
    assert cloud.sandbox.post("/_sandbox/settle").status_code == 200


def newest(client: Client) -> dict[str, Any]:
    return dict(client.get("/v4/account/events").json()["data"][0])


def machine(cloud: Cloud, client: Client) -> int:
    made = create(client, booted=False, **IMAGE)
    settle(cloud)
    return int(made["id"])


# ---- failing on the way -------------------------------------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("percent", [0, 1, 40, 99, 100])
def test_an_operation_fails_at_the_percent_that_is_told(frozen: Cloud, alice: Client, percent: int) -> None:
    put(frozen, compute_create={"seconds": 100, "fail_at": percent, "fail": "no space"})
    create(alice, booted=False, **IMAGE)
    shown = []
    for _ in range(24):
        event = newest(alice)
        shown.append(event["percent_complete"])
        if event["status"] == "failed":
            break
        advance(frozen, 5)
    event = newest(alice)
    assert (event["status"], event["percent_complete"], event["message"]) == ("failed", percent, "no space")
    assert max(each or 0 for each in shown) <= max(percent, 5), shown  # the first part takes no time
    assert percent <= (len(shown) - 1) * 5 <= percent + 10, shown  # not earlier than told, and soon after


def test_every_kind_of_work_can_fail_on_the_way(frozen: Cloud, alice: Client) -> None:
    number = machine(frozen, alice)
    disk = alice.get(f"/v4/compute/instances/{number}/disks").json()["data"][0]["id"]
    at = f"/v4/compute/instances/{number}"
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "disk_resize": (f"{at}/disks/{disk}/resize", {"size": 9000}),
        "compute_boot": (f"{at}/boot", {}),
        "compute_rebuild": (f"{at}/rebuild", IMAGE),
        "compute_resize": (f"{at}/resize", {"type": "g6-standard-4"}),
    }
    for action, (path, body) in calls.items():
        put(frozen, **{action: {"seconds": 10, "fail_at": 70, "fail": "a bad sector"}})
        answer = alice.post(path, json=body)
        assert answer.status_code == 200, answer.text
        settle(frozen)
        event = next(event for event in alice.get("/v4/account/events").json()["data"] if event["action"] == action)
        assert (event["status"], event["percent_complete"]) == ("failed", 70), action


# ---- read so often ------------------------------------------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("mode", ["freeze", "thaw"])
def test_an_object_is_under_way_for_so_many_reads(cloud: Cloud, alice: Client, mode: str) -> None:
    number = machine(cloud, alice)
    put(cloud, compute_boot={"reads": 3})
    cloud.sandbox.post(f"/_sandbox/clock/{mode}")
    before = cloud.sandbox.get("/_sandbox/clock").json()["now"]
    assert alice.post(f"/v4/compute/instances/{number}/boot").status_code == 200
    url = f"/v4/compute/instances/{number}"
    for _ in range(3):  # reads that do not count, however often
        alice.get("/v4/compute/instances")
        alice.get("/v4/account/events")
        alice.head(url)
        alice.get(f"{url}/disks")
        assert alice.get(f"{url}9").status_code == 404
    seen = [status(alice, number) for _ in range(4)]
    assert seen == ["booting", "booting", "booting", "running"]
    assert newest(alice)["status"] == "finished"
    if mode == "freeze":
        assert cloud.sandbox.get("/_sandbox/clock").json()["now"] == before


def test_reads_of_strangers_are_not_counted(frozen: Cloud, alice: Client, mallory: Client) -> None:
    number = machine(frozen, alice)
    put(frozen, compute_boot={"reads": 1})
    alice.post(f"/v4/compute/instances/{number}/boot")
    for _ in range(3):
        assert mallory.get(f"/v4/compute/instances/{number}").status_code == 404
    assert [status(alice, number), status(alice, number)] == ["booting", "running"]


def test_a_whole_creation_goes_by_reads(frozen: Cloud, alice: Client) -> None:
    put(frozen, **{"*": {"reads": 2}})
    number = create(alice, **IMAGE)["id"]
    seen = [status(alice, number) for _ in range(6)]  # each operation is shown twice under way
    assert seen == ["provisioning", "provisioning", "booting", "booting", "running", "running"]


def test_the_end_after_the_reads_may_be_a_failure_or_that_it_is_gone(frozen: Cloud, alice: Client) -> None:
    number = machine(frozen, alice)
    put(frozen, compute_boot={"reads": 1, "fail": "no power"}, compute_delete={"reads": 2})
    alice.post(f"/v4/compute/instances/{number}/boot")
    assert [status(alice, number), status(alice, number)] == ["booting", "offline"]
    assert (newest(alice)["status"], newest(alice)["message"]) == ("failed", "no power")
    assert alice.delete(f"/v4/compute/instances/{number}").status_code == 200
    codes = [alice.get(f"/v4/compute/instances/{number}").status_code for _ in range(4)]
    assert codes[-1] == 404


@pytest.mark.parametrize("call", ["/_sandbox/settle", "/_sandbox/clock/advance"])
@pytest.mark.parametrize("mode", ["freeze", "thaw"])
def test_moving_time_ends_what_waits_to_be_read(cloud: Cloud, alice: Client, call: str, mode: str) -> None:
    cloud.sandbox.post(f"/_sandbox/clock/{mode}")
    put(cloud, **{"*": {"reads": 5}})
    number = create(alice, **IMAGE)["id"]
    assert status(alice, number) == "provisioning"
    answer = cloud.sandbox.post(call, json={"seconds": 1} if call.endswith("advance") else {})
    assert answer.status_code == 200
    assert answer.json()["operations"] >= 1
    assert status(alice, number) == "running"


def test_reads_are_counted_on_after_a_snapshot_comes_back(frozen: Cloud, alice: Client) -> None:
    number = machine(frozen, alice)
    put(frozen, compute_boot={"reads": 2})
    alice.post(f"/v4/compute/instances/{number}/boot")
    assert status(alice, number) == "booting"
    frozen.sandbox.post("/_sandbox/snapshots", json={"name": "half"})
    put(frozen)
    for _ in range(2):
        frozen.sandbox.post("/_sandbox/snapshots/half/restore")
        assert [status(alice, number), status(alice, number)] == ["booting", "running"]
    frozen.sandbox.delete("/_sandbox/snapshots/half")


@pytest.mark.parametrize(
    "rule",
    [
        {"reads": 0},
        {"reads": -1},
        {"reads": "3"},
        {"reads": True},
        {"reads": 1.5},
        {"reads": 3, "seconds": 1},
        {"seconds": 1, "fail_at": 40},
        {"fail": "why", "fail_at": 40},
        {"reads": 1, "fail": "why", "fail_at": 40},
        {"seconds": 1, "fail": "why", "fail_at": 101},
        {"seconds": 1, "fail": "why", "fail_at": -1},
        {"seconds": 1, "sometimes": True},
    ],
)
def test_a_rule_that_cannot_be_is_refused_on_its_action(cloud: Cloud, rule: dict[str, Any]) -> None:
    before = cloud.sandbox.get("/_sandbox/transitions").json()
    answer = cloud.sandbox.put("/_sandbox/transitions", json={"compute_boot": rule})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "compute_boot"
    assert cloud.sandbox.get("/_sandbox/transitions").json() == before


def test_the_table_in_force_is_told_as_it_was_put(cloud: Cloud) -> None:
    table = {"compute_boot": {"reads": 3}, "compute_create": {"seconds": 10, "fail_at": 40, "fail": "reason"}}
    assert cloud.sandbox.put("/_sandbox/transitions", json=table).json() == {"*": {"seconds": 1.0}, **table}
    assert cloud.sandbox.get("/_sandbox/transitions").json() == {"*": {"seconds": 1.0}, **table}
