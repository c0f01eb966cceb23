"""Response bodies of maintenance."""

from __future__ import annotations

from typing import Literal

from crofter.shapes import Address, Filtered, Id, Moment, View, Word

MaintenanceType = Literal["reboot", "cold_migration", "live_migration", "volume_migration"]


class MaintenanceEntity(View):
    """Object of the maintenance; at present always an instance."""

    id: Id
    label: str
    type: Word[str]
    url: Address[str]


class MaintenanceView(View):
    """Something that will be done to an instance."""

    entity: MaintenanceEntity
    reason: str
    status: Filtered[Literal["pending", "started"]]
    type: Filtered[MaintenanceType]
    when: Filtered[Moment]
