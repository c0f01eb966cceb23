"""Every job of an instance: read together, the state machine."""

from __future__ import annotations

from crofter.engine import Nothing, Operation, Schedule
from crofter.resources.instances import sweeping, watchdog
from crofter.resources.instances.backups import operations as saving
from crofter.resources.instances.backups import restoring, schedule
from crofter.resources.instances.disks import operations as disks
from crofter.resources.instances.ips.rules import REWIRE
from crofter.resources.instances.operations import (
    cloning,
    deletion,
    deploy,
    looking,
    moving,
    power,
    purging,
    rebuild,
)
from crofter.resources.instances.states import Job

JOBS: tuple[Job, ...] = (
    *deploy.JOBS,
    *power.JOBS,
    *disks.JOBS,
    *rebuild.JOBS,
    *saving.JOBS,
    *restoring.JOBS,
    *moving.JOBS,
    *cloning.JOBS,
    *deletion.JOBS,
)

SCHEDULES = (
    Schedule("instances.attend", sweeping.ATTEND, "every 21600", Nothing()),
    Schedule("instances.sweep", sweeping.SWEEP, "every 86400", Nothing()),
)
"""The simulated hypervisor tells of changes at once; these are the nets below."""

OPERATIONS: tuple[Operation, ...] = (
    looking.LOOK,
    purging.PURGE,
    REWIRE,
    watchdog.WATCH,
    *sweeping.OPERATIONS,
    moving.RECOVER,
    schedule.CHOOSE,
    *saving.OPERATIONS,
    *{job.operation.kind: job.operation for job in JOBS}.values(),
)
