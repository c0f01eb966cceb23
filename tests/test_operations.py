"""Every job, with a crash and with a failure at every step."""

from __future__ import annotations

import pytest

from crofter.cli.operations import call_off
from crofter.db import query
from crofter.db.sql import bindparam, func, select
from crofter.engine import Step
from crofter.engine.endings import CANCELLED
from crofter.engine.tables import operation
from crofter.jobs import Job
from crofter.operations import JOBS
from tests.cloud import Cloud
from tests.sweep import PLANTED, SCENARIOS, Machine, outcome, planted, points, run, violations

POINTS = points()
_LAST = query(select(func.max(operation.c.id)).where(operation.c.kind == bindparam("kind")))
_ON_OBJECTS = query(
    # What has to be purged from a storage is no object of its owner any more.
    select(operation.c.kind).where(
        operation.c.key.is_not(None),
        operation.c.kind != "volume_purge",
        operation.c.state.in_(("queued", "running", "waiting")),
        operation.c.due <= bindparam("now"),
    )
)
IDS = [f"{job.operation.kind}.{step.name}" for job, step in POINTS]


def test_every_job_has_its_scenario() -> None:
    assert {job.operation.kind for job, _ in POINTS} == set(SCENARIOS)


@pytest.mark.parametrize(("job", "step"), POINTS, ids=IDS)
def test_a_crash_after_a_step_changes_nothing(cloud: Cloud, job: Job, step: Step) -> None:
    _quick(cloud)
    machine = Machine(cloud)
    with planted(cloud, job.operation.kind, step, "crash") as plant:
        run(machine, job.operation.kind)
        cloud.settle()
    assert plant.fired, "the step never ran"
    assert outcome(machine, job.action) == ("notification" if job.notifies else "finished", "")
    assert violations(cloud) == []


@pytest.mark.parametrize(("job", "step"), POINTS, ids=IDS)
def test_a_failure_at_a_step_leaves_no_loose_end(cloud: Cloud, job: Job, step: Step) -> None:
    _quick(cloud)
    machine = Machine(cloud)
    with planted(cloud, job.operation.kind, step, "fail") as plant:
        run(machine, job.operation.kind)
        cloud.settle()
    assert plant.fired, "the step never ran"
    assert outcome(machine, job.action) == (("notification", "") if job.notifies else ("failed", PLANTED))
    assert violations(cloud) == []


@pytest.mark.parametrize(("job", "step"), POINTS, ids=IDS)
def test_an_event_fails_when_its_object_may_be_used_again(cloud: Cloud, job: Job, step: Step) -> None:
    """Tick by tick: while an event is open there is work on its object, and none is left when the event has failed."""
    _quick(cloud)
    machine = Machine(cloud)
    scenario = SCENARIOS[job.operation.kind]
    scenario.before(machine)
    cloud.freeze()
    with planted(cloud, job.operation.kind, step, "fail"):
        assert scenario.act(machine).status_code == 200
        while outcome(machine, job.action)[0] not in ("failed", "notification"):
            ticked = cloud.sandbox.post("/_sandbox/clock/tick").json()["operation"]
            assert ticked is not None, "the event is open, and nothing is under way"
    if not job.notifies:
        with cloud.runtime.database.read() as db:
            assert db.column(_ON_OBJECTS, now=cloud.runtime.clock.now()) == []


@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.operation.kind))
def test_a_job_that_is_queued_is_cancelled_by_an_operator(cloud: Cloud, job: Job) -> None:
    machine = Machine(cloud)
    scenario = SCENARIOS[job.operation.kind]
    scenario.before(machine)
    cloud.freeze()  # orders stay queued from here on
    answer = scenario.act(machine)
    assert answer.status_code == 200, answer.text
    with cloud.runtime.database.read() as db:
        number = db.value(_LAST, kind=job.operation.kind)
    arguments = {"id": number, "as": None, "group": "operations", "verb": "cancel"}
    assert call_off(cloud.runtime, arguments) == [{"cancelled": number}]
    cloud.settle()
    assert outcome(machine, job.action) == (("notification", "") if job.notifies else ("failed", CANCELLED))
    assert violations(cloud) == []


def test_a_loose_end_is_seen(cloud: Cloud) -> None:
    """Plant defects: an orphaned disk, a status without end, an address in the wrong region, and a share without a
    holder.
    """
    from crofter.resources.instances.disks.store import disk
    from crofter.resources.instances.ips.store import address, shared_address
    from crofter.resources.instances.store import instance

    _quick(cloud)
    machine = Machine(cloud)
    assert violations(cloud) == []
    with cloud.runtime.database.write() as db:
        db.delete(disk, id=machine.root)
        db.update(instance, {"id": machine.id}, status="rebooting")
        db.update(address, {"instance_id": machine.id}, region="us-west")
        db.insert(shared_address, instance_id=machine.id, address="203.0.113.200", created="2026-01-01T00:00:00")
    assert len(violations(cloud)) == 4


def _quick(cloud: Cloud) -> None:
    """Set all durations to zero."""
    assert cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}}).status_code == 200
