"""Declarations of jobs match their behaviour: each planted wrong declaration is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import force_setattr

from crofter.resources.instances.jobs import JOBS
from crofter.resources.instances.states import Job
from tests.cloud import Cloud
from tests.sweep import NEW, SCENARIOS, Machine, outcome

BY_KIND = {job.operation.kind: job for job in JOBS}
BY_ITSELF = ("lassie_reboot", "host_reboot")
"""Started by the server, of which no caller hears."""
ASKED_FOR = [kind for kind in BY_KIND if kind not in BY_ITSELF and not BY_KIND[kind].creates]
BUSY = [{"reason": "Compute busy."}]


@contextmanager
def planted(kind: str, **declared: Any) -> Iterator[None]:
    """Let a job declare something else."""
    job = BY_KIND[kind]
    before = {name: getattr(job, name) for name in declared}
    _declare(job, declared)
    try:
        yield
    finally:
        _declare(job, before)


def _declare(job: Job, declared: dict[str, Any]) -> None:
    for name, value in declared.items():
        force_setattr(job, name, value)


@pytest.fixture
def machine(cloud: Cloud) -> Machine:
    assert cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}}).status_code == 200
    return Machine(cloud)


def _status(machine: Machine) -> str:
    return str(machine.owner.get(machine.path).json()["status"])


def _events(machine: Machine, action: str) -> int:
    headers = {"X-Filter": f'{{"action": "{action}"}}'}
    return int(machine.owner.get("/v4/account/events", headers=headers).json()["results"])


@pytest.mark.parametrize("kind", ASKED_FOR)
def test_a_job_that_accepts_no_state_is_refused(machine: Machine, kind: str) -> None:
    scenario = SCENARIOS[kind]
    scenario.before(machine)
    before = _events(machine, BY_KIND[kind].action)
    with planted(kind, accepts=()):
        answer = scenario.act(machine)
    assert (answer.status_code, answer.json()["errors"]) == (400, BUSY)
    assert _events(machine, BY_KIND[kind].action) == before


def test_a_boot_that_accepts_only_what_runs_is_refused_to_what_is_off(machine: Machine) -> None:
    machine.rest("shutdown")
    with planted("compute_boot", accepts=("running",)):
        assert machine.post("boot").json()["errors"] == BUSY
        assert machine.post("reboot").json()["errors"] == BUSY  # rebooting an instance that is off boots it
    assert _status(machine) == "offline"


def test_a_shutdown_that_accepts_only_what_runs_is_refused_to_what_is_off(machine: Machine) -> None:
    machine.rest("shutdown")
    with planted("compute_shutdown", accepts=("running",)):
        assert machine.post("shutdown").json()["errors"] == BUSY


def test_a_job_that_creates_does_so_only_with_a_new_instance(cloud: Cloud, machine: Machine) -> None:
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 60})
    with planted("compute_reboot", creates=True):
        assert machine.post("reboot").status_code == 500
    assert _events(machine, "compute_reboot") == 0


def test_a_deletion_that_does_not_interrupt_waits_for_an_idle_instance(cloud: Cloud, machine: Machine) -> None:
    cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 60}})
    assert machine.post("reboot").status_code == 200
    with planted("compute_delete", interrupts=False):
        assert machine.ask("DELETE", machine.path).json()["errors"] == BUSY
    assert machine.ask("DELETE", machine.path).status_code == 200


def test_a_boot_that_is_not_declared_to_come_after_a_creation_does_not(cloud: Cloud, machine: Machine) -> None:
    boots = _events(machine, "compute_boot")
    with planted("compute_boot", after=("maintenance",)):
        machine.ask("POST", "/v4/compute/instances", **NEW)
        cloud.settle()
        assert outcome(machine, "compute_create")[0] == "failed"
    assert _events(machine, "compute_boot") == boots


@pytest.mark.parametrize("declared", [{"accepts": ()}, {"after": ()}])
def test_maintenance_reboots_only_as_declared(cloud: Cloud, machine: Machine, declared: dict[str, Any]) -> None:
    scenario = SCENARIOS["host_reboot"]
    scenario.before(machine)
    with planted("host_reboot", **declared):
        scenario.act(machine)
        cloud.settle()
    assert _events(machine, "host_reboot") == 0


@pytest.mark.both
def test_the_watchdog_boots_only_as_declared(cloud: Cloud, machine: Machine) -> None:
    with planted("lassie_reboot", accepts=("running",)):
        assert SCENARIOS["lassie_reboot"].act(machine).status_code == 400
    assert _events(machine, "lassie_reboot") == 0
