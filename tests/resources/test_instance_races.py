"""Two at once: whatever two callers ask of one instance in the same moment, exactly one of them wins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.resources.instances import hands, sweeping
from tests.cloud import Cloud
from tests.resources.compute import BUSY, IMAGE, PASSWORD, create, deploy, disks, events, status, transitions

URL = "/v4/compute/instances"
ROUNDS = pytest.mark.parametrize("rounds", [5, pytest.param(60, marks=pytest.mark.soak)])


def together(*calls: Callable[[], Response]) -> list[Response]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(call) for call in calls]]


def post(client: Client, own: int, path: str, **body: Any) -> Callable[[], Response]:
    return lambda: client.post(f"{URL}/{own}/{path}", json=body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("backups", {"label": "x"}),
        ("reboot", {}),
        ("shutdown", {}),
        ("rescue", {}),
        ("resize", {"type": "g6-standard-2"}),
    ],
)
def test_of_two_jobs_one_is_refused(cloud: Cloud, alice: Client, path: str, body: dict[str, Any]) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    before = len(events(alice))
    answers = together(*(post(alice, own, path, **body) for _ in range(4)))
    won = [one for one in answers if one.status_code == 200]
    lost = [one.json() for one in answers if one.status_code != 200]
    assert (len(won), lost) == (1, [BUSY] * 3)
    cloud.settle()
    assert len(events(alice)) == before + (2 if path == "resize" else 1)


@ROUNDS
def test_two_disks_never_take_more_than_there_is(cloud: Cloud, alice: Client, rounds: int) -> None:
    transitions(cloud, **{"*": {"seconds": 0}})
    for _ in range(rounds):
        own = create(alice)["id"]
        together(*(post(alice, own, "disks", label="x", size=30000) for _ in range(3)))
        cloud.settle()
        assert [one["size"] for one in disks(alice, own)] == [30000]


JOBS: dict[str, dict[str, Any]] = {
    "reboot": {},
    "rebuild": {"image": IMAGE, "root_pass": PASSWORD},
    "resize": {"type": "g6-standard-2"},
    "migrate": {"region": "us-west"},
    "backups": {"label": "x"},
    "clone": {"region": "us-east", "type": "g6-standard-1"},
}


@ROUNDS
@pytest.mark.parametrize("path", JOBS)
def test_a_deletion_wins_over_everything(cloud: Cloud, alice: Client, path: str, rounds: int) -> None:
    transitions(cloud, **{"*": {"seconds": 0.05}})
    for _ in range(rounds):
        own = create(alice, image=IMAGE, root_pass=PASSWORD, backups_enabled=True)["id"]
        cloud.settle()
        answers = together(post(alice, own, path, **JOBS[path]), lambda own=own: alice.delete(f"{URL}/{own}"))  # type: ignore[misc]
        assert answers[0].status_code in (200, 400, 404)
        assert answers[1].status_code == 200
        cloud.settle()
        assert alice.get(f"{URL}/{own}").status_code == 404
    for made in alice.get(URL).json()["data"]:  # what was cloned in time
        assert status(alice, made["id"]) == "offline"
        alice.delete(f"{URL}/{made['id']}")
    cloud.settle()
    assert sweeping.reconcile(cloud.world) == sweeping.Report()
    found = hands.hypervisor(cloud.world).list()
    assert (found.domains, found.disks, found.backups) == ((), (), ())
    assert {one["status"] for one in events(alice)} <= {"finished", "failed", "notification"}


@ROUNDS
def test_two_of_the_same_name_are_never_made(cloud: Cloud, alice: Client, rounds: int) -> None:
    for number in range(rounds):
        body = {"type": "g6-nanode-1", "region": "us-east", "label": f"web-{number}"}
        answers = together(*(lambda body=body: alice.post(URL, json=body) for _ in range(3)))  # type: ignore[misc]
        assert sorted(one.status_code for one in answers) == [200, 400, 400]
