"""Request and response bodies of backups."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.instances.disks.shapes import Filesystem
from crofter.shapes import Body, Id, Moment, View

BackupStatus = Literal["paused", "pending", "running", "needsPostProcessing", "successful", "failed", "userAborted"]
SnapshotLabel = Annotated[str, Meta(min_length=1, max_length=255, description="Name of the snapshot.")]


class BackupDisk(View):
    filesystem: Filesystem
    label: str
    size: Annotated[int, Meta(description="MB that its files take.")]


class BackupView(View):
    """A saved state of an instance."""

    available: bool
    configs: list[str]
    created: Moment
    disks: list[BackupDisk]
    finished: Moment | None
    id: Id
    label: str | None
    region: str
    status: BackupStatus
    type: Literal["auto", "snapshot"]
    updated: Moment


class SnapshotView(View):
    current: BackupView | None
    in_progress: BackupView | None


class BackupsList(View):
    """The backups of an instance: up to three automatic ones, and one snapshot."""

    automatic: list[BackupView]
    snapshot: SnapshotView


class SnapshotCreate(Body):
    label: SnapshotLabel


class Restore(Body):
    compute_id: Id
    overwrite: bool = False
