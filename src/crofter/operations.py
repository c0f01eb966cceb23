"""Every operation of the server, listed, with the ports that their steps and endings ask.

Apart from the endpoints: a command that ends an operation needs what clears up after it, and no HTTP.
"""

from __future__ import annotations

import crofter.instance_neighbours  # noqa: F401 - steps and endings tell them of instances
from crofter import mail, retention
from crofter.engine.operation import Operation
from crofter.engine.schedules import Schedule
from crofter.jobs import Job
from crofter.login import schedules as login_schedules
from crofter.resources.billing import meters
from crofter.resources.billing import operations as billing_operations
from crofter.resources.closing.rules import CLEAR
from crofter.resources.domains import operations as domain_operations
from crofter.resources.events import visibility as event_visibility
from crofter.resources.firewalls import operations as firewall_operations
from crofter.resources.instances import jobs as instance_jobs
from crofter.resources.instances.capture import operations as image_jobs
from crofter.resources.maintenance.rules import MAINTAIN
from crofter.resources.managed.services import rounds as managed_rounds
from crofter.resources.support import store as tickets
from crofter.resources.transfers import operations as transfer_operations
from crofter.resources.volumes import operations as volume_operations

JOBS: tuple[Job, ...] = (*instance_jobs.JOBS, *volume_operations.JOBS, *image_jobs.IMAGE_JOBS)
"""Jobs on objects that owners see. Tests crash and fail each step of each."""

OPERATIONS: tuple[Operation, ...] = (
    *retention.OPERATIONS,
    CLEAR,
    *instance_jobs.OPERATIONS,
    *volume_operations.OPERATIONS,
    *firewall_operations.OPERATIONS,
    *billing_operations.OPERATIONS,
    *transfer_operations.OPERATIONS,
    *domain_operations.OPERATIONS,
    MAINTAIN,
    *login_schedules.OPERATIONS,
    *mail.OPERATIONS,
    *managed_rounds.OPERATIONS,
)

SCHEDULES: tuple[Schedule, ...] = (
    *retention.SCHEDULES,
    *instance_jobs.SCHEDULES,
    *billing_operations.SCHEDULES,
    *login_schedules.SCHEDULES,
)

# Functions that lower packages need from higher ones.
event_visibility.register("ticket", tickets.seen_by_user)
meters.watch(domain_operations.watch_services)
