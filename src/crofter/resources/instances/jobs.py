"""Every job of an instance: read together, the state machine."""

from __future__ import annotations

from crofter.engine import Nothing, Operation, Schedule
from crofter.resources.instances import clone, delete, leaving, looking, purging, rebuild, sweeping, watchdog
from crofter.resources.instances.backups import operations as backups
from crofter.resources.instances.backups import restoring, schedule
from crofter.resources.instances.capture import operations as capture
from crofter.resources.instances.create import operations as create
from crofter.resources.instances.disks import operations as disks
from crofter.resources.instances.ips.rules import REWIRE
from crofter.resources.instances.move import operations as move
from crofter.resources.instances.power import operations as power
from crofter.resources.instances.states import Job

JOBS: tuple[Job, ...] = (
    *create.JOBS,
    *power.JOBS,
    *disks.JOBS,
    *capture.JOBS,
    *rebuild.JOBS,
    *backups.JOBS,
    *restoring.JOBS,
    *move.JOBS,
    *clone.JOBS,
    *delete.JOBS,
)

SCHEDULES = (
    Schedule("instances.attend", sweeping.ATTEND, "every 21600", Nothing()),
    Schedule("instances.sweep", sweeping.SWEEP, "every 86400", Nothing()),
)
"""Safety nets: the simulated hypervisor reports changes directly."""

OPERATIONS: tuple[Operation, ...] = (
    looking.LOOK,
    purging.PURGE,
    REWIRE,
    watchdog.WATCH,
    *sweeping.OPERATIONS,
    move.RECOVER,
    leaving.LEAVE,
    schedule.CHOOSE,
    *backups.OPERATIONS,
    *capture.OPERATIONS,
    *{job.operation.kind: job.operation for job in JOBS}.values(),
)
