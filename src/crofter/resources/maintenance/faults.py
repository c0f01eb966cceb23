"""Scheduling maintenance in the sandbox, where there is no operator who would."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter import clock
from crofter.context import Runtime
from crofter.errors import Invalid
from crofter.faults import FaultKind
from crofter.resources.instances import watchdog
from crofter.resources.instances.faults import instance_of
from crofter.resources.maintenance import rules
from crofter.resources.maintenance.shapes import MaintenanceType
from crofter.shapes import Body, Id


class Maintenance(Body):
    compute_id: Id
    type: MaintenanceType = "reboot"
    when: str | None = None
    reason: Annotated[str, Meta(max_length=1000)] = "Scheduled maintenance of the host"


def _schedule(runtime: Runtime, body: Maintenance) -> None:
    instance = instance_of(runtime, body.compute_id)
    try:
        when = runtime.clock.now() + clock.DAY if body.when is None else clock.parse(body.when)
    except ValueError:
        raise Invalid("Must be a date-time", field="when") from None
    with runtime.database.write() as db:
        ctx = watchdog.system_context(runtime, db, instance)
        rules.schedule(ctx, instance, body.type, when, body.reason)


MAINTENANCE = FaultKind("maintenance", Maintenance, _schedule)
