"""Volumes expected in the storage of regions, for the sweeper."""

from __future__ import annotations

from crofter.db import Row, Session, query
from crofter.db.sql import select
from crofter.drivers.hypervisor import VolumeRef
from crofter.engine.queue import state_in
from crofter.engine.tables import operation
from crofter.resources.instances.neighbours import InStorage
from crofter.resources.volumes.operations import DELETE, PURGE, VOLUMES
from crofter.resources.volumes.store import volume


class _Stored(Row):
    region: str
    id: int
    status: str


_LIVE = state_in(operation, "queued", "running", "waiting")
_ALL = query(select(volume.c.region, volume.c.id, volume.c.status), _Stored)
_BUSY = query(select(operation.c.key).where(operation.c.key.like(f"{VOLUMES.name}:%"), _LIVE))
_LEAVING = query(select(operation.c.input).where(operation.c.kind.in_((PURGE.kind, DELETE.operation.kind)), _LIVE))


def in_storage(db: Session) -> InStorage:
    busy = set(db.column(_BUSY))
    rows = db.all(_ALL)
    settled = (row for row in rows if row.status == "active" and VOLUMES.key(row.id) not in busy)
    leaving = (VolumeRef(purge["region"], purge["volume_id"]) for purge in db.column(_LEAVING))
    return InStorage(
        frozenset(VolumeRef(row.region, row.id) for row in settled),
        frozenset([*(VolumeRef(row.region, row.id) for row in rows), *leaving]),
    )
