"""When an instance may be backed up, and what a backup may be restored to."""

from __future__ import annotations

from crofter import clock
from crofter.context import Context
from crofter.errors import Busy, Invalid
from crofter.events import record
from crofter.resources.instances import costs, purging, states, store
from crofter.resources.instances.backups import operations, restoring, schedule
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.operations import UNDER_WAY, SaveArgs
from crofter.resources.instances.backups.restoring import RestoreArgs
from crofter.resources.instances.backups.shapes import (
    BackupDisk,
    BackupsList,
    BackupView,
    Restore,
    SnapshotView,
)
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.disks import rules as disk_rules
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.store import Instance

COOL_OFF = clock.DAY
"""After backups were cancelled, so long they cannot be enabled again."""

BACKUP_KINDS = {
    operations.SNAPSHOT.operation.kind,
    operations.AUTOMATIC.kind,
    restoring.RESTORE.operation.kind,
}
"""Operations that write or read backups: until they have ended, backups cannot be cancelled."""


def view(row: Backup) -> BackupView:
    return BackupView(
        available=row.status == "successful",
        configs=[config["label"] for config in row.configs],
        created=row.created,
        disks=[BackupDisk(disk["filesystem"], disk["label"], disk["used"]) for disk in row.disks],
        finished=row.finished,
        id=row.id,
        label=row.label,
        region=row.region,
        status=row.status,  # type: ignore[arg-type]
        type=row.type,  # type: ignore[arg-type]
        updated=row.updated,
    )


def listed(ctx: Context, instance: Instance) -> BackupsList:
    rows = backups.of(ctx, instance.id)
    snapshots = [row for row in rows if row.type == "snapshot"]
    current = next((row for row in snapshots if row.status == "successful"), None)
    under_way = next((row for row in snapshots if row.status in UNDER_WAY), None)
    return BackupsList(
        automatic=[view(row) for row in rows if row.type == "auto" and row.status == "successful"],
        snapshot=SnapshotView(_view_of(current), _view_of(under_way)),
    )


def _view_of(row: Backup | None) -> BackupView | None:
    return None if row is None else view(row)


def snapshot(ctx: Context, instance: Instance, label: str) -> BackupView:
    if not instance.backups_enabled:
        raise Invalid("Backups must be enabled for this Compute before a snapshot can be taken.")
    states.must_be_idle(ctx, instance)
    backup_id = operations.insert(ctx, instance, "snapshot", label)
    states.start_job(ctx, operations.SNAPSHOT, instance, SaveArgs(instance.id, backup_id))
    return view(backups.one(ctx, instance.id, backup_id))


def enable(ctx: Context, instance: Instance) -> None:
    if instance.backups_enabled:
        raise Invalid("Backups are already enabled for this Compute.")
    cancelled = instance.backups_cancelled
    if cancelled is not None and ctx.now - clock.parse(cancelled) < COOL_OFF:
        raise Invalid("Backups were cancelled less than 24 hours ago. Please try again later.")
    ctx.db.update(
        store.instance,
        {"id": instance.id},
        backups_enabled=True,
        backup_day=schedule.UNDECIDED,
        backup_window=schedule.UNDECIDED,
        updated=ctx.moment,
    )
    schedule.begin(ctx, instance.id)
    costs.begin_backups(ctx, instance)
    record(ctx, "backups_enable", store.entity(instance))


def cancel(ctx: Context, instance: Instance) -> None:
    if not instance.backups_enabled:
        raise Invalid("Backups are not enabled for this Compute.")
    ctx.db.lock_account(instance.account_id)  # no backup may begin after the look
    if instance.status == "deleting" or states.under_way(ctx, instance.id) & BACKUP_KINDS:
        raise Busy
    ctx.db.update(
        store.instance,
        {"id": instance.id},
        backups_enabled=False,
        backup_day=None,
        backup_window=None,
        last_successful=None,
        backups_cancelled=ctx.moment,
        updated=ctx.moment,
    )
    schedule.end(ctx, instance.id)
    costs.end_backups(ctx, instance)
    purging.forget_backups(ctx, backups.of(ctx, instance.id))
    record(ctx, "backups_cancel", store.entity(instance))


def restore(ctx: Context, backup: Backup, body: Restore) -> None:
    ctx.runtime.kinds.require(ctx, store.KIND, [body.compute_id], "read_write", field="compute_id")
    target = store.one(ctx, body.compute_id)
    if backup.status != "successful":
        raise Invalid("Only a successful backup can be restored.")
    if target.region != backup.region:
        raise Invalid("The Compute is not in the region of the backup.", field="compute_id")
    states.must_be_idle(ctx, target)
    needed = sum(disk["size"] for disk in backup.disks)
    taken = 0 if body.overwrite else disks.reserved(ctx, target.id)
    if taken + needed > target.disk:
        raise Invalid(disk_rules.NO_SPACE)
    args = RestoreArgs(
        instance_id=target.id,
        backup_id=backup.id,
        source_id=backup.instance_id,
        overwrite=body.overwrite,
        was_running=target.status == "running",
    )
    states.start_job(ctx, restoring.RESTORE, target, args)
