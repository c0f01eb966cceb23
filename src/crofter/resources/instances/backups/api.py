"""Backups of an instance: list, snapshot, view, restore, enable, cancel."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.backups import rules, store
from crofter.resources.instances.backups.shapes import BackupsList, BackupView, Restore, SnapshotCreate

TheBackup = Annotated[store.Backup, Lookup(store.one, "compute_id", "backup_id")]


@endpoint("GET /v4/compute/instances/{compute_id}/backups", scope="computes:read_only", grant="compute:read_only")
def list_backups(ctx: Context, instance: TheInstance) -> BackupsList:
    """List the backups of an instance."""
    return rules.listed(ctx, instance)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/backups",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_snapshot",),
)
def create_snapshot(ctx: Context, instance: TheInstance, body: SnapshotCreate) -> BackupView:
    """Take a snapshot; it takes the place of the one before."""
    return rules.snapshot(ctx, instance, body.label)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/backups/cancel",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("backups_cancel",),
)
def cancel_backups(ctx: Context, instance: TheInstance) -> None:
    """Stop backing an instance up, and delete all its backups for good."""
    rules.cancel(ctx, instance)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/backups/enable",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("backups_enable",),
)
def enable_backups(ctx: Context, instance: TheInstance) -> None:
    """Back an instance up every day; this incurs a charge."""
    rules.enable(ctx, instance)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/backups/{backup_id}",
    scope="computes:read_only",
    grant="compute:read_only",
)
def view_backup(ctx: Context, instance: TheInstance, backup: TheBackup) -> BackupView:
    """View a backup."""
    return rules.view(backup)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/backups/{backup_id}/restore",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("backups_restore", "vlan_attach", "vlan_detach"),
)
def restore_backup(ctx: Context, instance: TheInstance, backup: TheBackup, body: Restore) -> None:
    """Restore a backup to an instance of the same region."""
    rules.restore(ctx, backup, body)
