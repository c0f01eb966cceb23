"""Maintenance as callers see it."""

from __future__ import annotations

from typing import Literal

from crofter.shapes import Filtered, Id, Moment, View

MaintenanceType = Literal["reboot", "cold_migration", "live_migration", "volume_migration"]


class MaintenanceEntity(View):
    """What is maintained; so far always an instance."""

    id: Id
    label: str
    type: str
    url: str


class MaintenanceView(View):
    """Something that will be done to an instance."""

    entity: MaintenanceEntity
    reason: str
    status: Filtered[Literal["pending", "started"]]
    type: Filtered[MaintenanceType]
    when: Filtered[Moment]
