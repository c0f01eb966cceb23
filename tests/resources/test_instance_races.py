"""Races of two simultaneous requests on an instance: exactly one wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.engine import Step
from crofter.resources.instances import hypervisor_client, sweeping
from crofter.resources.instances.jobs import JOBS
from crofter.resources.instances.states import Job
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.resources.compute import BUSY, act, create, deploy, disks, events, transitions, view
from tests.sweep import SCENARIOS, Machine, Scenario, instead, violations

URL = "/v4/compute/instances"
ROUNDS = pytest.mark.parametrize(
    "rounds",
    [pytest.param((0, 23, 46), id="some"), pytest.param(range(60), id="all", marks=pytest.mark.soak)],
)


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
    cloud.freeze()  # else the first may have ended before the last is looked at
    answers = at_once(*(post(alice, own, path, **body) for _ in range(4)))
    won = [answer for answer in answers if answer.status_code == 200]
    lost = [answer.json() for answer in answers if answer.status_code != 200]
    assert (len(won), lost) == (1, [BUSY] * 3)
    cloud.settle()
    assert len(events(alice)) == before + (2 if path == "resize" else 1)


@ROUNDS
def test_two_disks_never_take_more_than_there_is(cloud: Cloud, alice: Client, rounds: Sequence[int]) -> None:
    transitions(cloud, **{"*": {"seconds": 0}})
    for _ in rounds:
        own = create(alice)["id"]
        answers = at_once(*(post(alice, own, "disks", label="x", size=30000) for _ in range(3)))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400]
        cloud.settle()
        assert [disk["size"] for disk in disks(alice, own)] == [30000]


@ROUNDS
def test_of_two_snapshots_one_is_taken(cloud: Cloud, alice: Client, rounds: Sequence[int]) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    cloud.freeze()
    for _ in rounds:
        answers = at_once(*(post(alice, own, "backups", label="x") for _ in range(2)))
        (taken,) = [answer.json()["id"] for answer in answers if answer.status_code == 200]
        assert [answer.json() for answer in answers if answer.status_code != 200] == [BUSY]
        cloud.settle()
        kept = alice.get(f"{URL}/{own}/backups").json()["snapshot"]
        assert (kept["current"]["id"], kept["in_progress"]) == (taken, None)
        assert [backup.id for backup in hypervisor_client.hypervisor(cloud.runtime).list().backups] == [taken]


@ROUNDS
def test_of_two_last_addresses_one_stays(cloud: Cloud, rounds: Sequence[int]) -> None:
    owner = cloud.person(public_ips=2)
    own = create(owner)["id"]
    for _ in rounds:
        act(owner, own, "ips", type="ipv4", public=True)
        both = view(owner, own)["ipv4"]
        answers = at_once(*(lambda address=address: owner.delete(f"{URL}/{own}/ips/{address}") for address in both))
        assert sorted(answer.status_code for answer in answers) == [200, 400]
        (left,) = (address for address, answer in zip(both, answers, strict=True) if answer.status_code == 400)
        assert view(owner, own)["ipv4"] == [left]


def victim(machine: Machine, works_on: str, made: int) -> int:
    return made if works_on == "made" else machine.id


def delete_at_once(machine: Machine, scenario: Scenario, works_on: str) -> tuple[int, Response]:
    """Send the deletion and the order together; a new instance is deleted as soon as its id is known."""
    if works_on == "made":
        own = int(scenario.act(machine).json()["id"])
        return own, machine.owner.delete(f"{URL}/{own}")
    assert machine.root  # cached before the race, which may use it
    answers = at_once(lambda: scenario.act(machine), lambda: machine.owner.delete(machine.path))
    assert answers[0].status_code in (200, 400, 403 if scenario.named else 404)
    return machine.id, answers[1]


def delete_at(machine: Machine, job: Job, step: Step, works_on: str) -> tuple[int, Response]:
    """Delete the instance while the job is at this step."""
    asked: list[tuple[int, Future[Response]]] = []

    def attempt(*arguments: Any) -> Any:
        if not asked:
            own = victim(machine, works_on, arguments[-1].args.instance_id)
            asked.append((own, pool.submit(machine.owner.delete, f"{URL}/{own}")))
            if step.external:
                asked[0][1].result()  # a step inside a transaction cannot wait for another one
        return step.run(*arguments)

    with ThreadPoolExecutor(1) as pool, instead(machine.cloud, job.operation.kind, step, attempt):
        assert SCENARIOS[job.operation.kind].act(machine).status_code == 200
        machine.cloud.settle()
        ((own, answer),) = asked
        return own, answer.result()


@ROUNDS
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.operation.kind)
def test_a_deletion_wins_over_every_job(cloud: Cloud, job: Job, rounds: Sequence[int]) -> None:
    """Delete at every step of a job: the instance is removed without leftovers."""
    transitions(cloud, **{"*": {"seconds": 0}})
    scenario, steps = SCENARIOS[job.operation.kind], job.operation.steps
    for number in rounds:
        turn, place = divmod(number, len(steps) + 1)
        works_on = scenario.works_on[turn % len(scenario.works_on)]
        machine = Machine(cloud)
        scenario.before(machine)
        if place:
            own, answer = delete_at(machine, job, steps[place - 1], works_on)
        else:
            own, answer = delete_at_once(machine, scenario, works_on)
        where = f"round {number}: {steps[place - 1].name if place else 'at once'}, {works_on}"
        assert answer.status_code in ((200, 404) if job.action == "compute_delete" else (200,)), where
        cloud.settle()
        assert machine.owner.get(f"{URL}/{own}").status_code == 404, where
        (delete_event,) = (event for event in events(machine.owner, "compute_delete") if event["entity"]["id"] == own)
        assert delete_event["status"] == "finished", where
        assert {event["status"] for event in events(machine.owner)} <= {"finished", "failed", "notification"}, where
        assert violations(cloud) == [], where
        assert sweeping.reconcile(cloud.runtime) == sweeping.Report(), where


@ROUNDS
def test_two_of_the_same_name_are_never_made(cloud: Cloud, alice: Client, rounds: Sequence[int]) -> None:
    for number in rounds:
        body = {"type": "g6-nanode-1", "region": "us-east", "label": f"web-{number}"}
        answers = at_once(*(lambda body=body: alice.post(URL, json=body) for _ in range(3)))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400]
