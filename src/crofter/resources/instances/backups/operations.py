"""Taking backups, and keeping as many as there are slots for."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import ObservedBackup
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, step, tx_step
from crofter.resources.instances import hypervisor_client, purging, states, store
from crofter.resources.instances.backups import slots
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import KEPT
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.looking import Args
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance

UNMOUNTABLE = ("raw", "initrd")
UNDER_WAY = ("pending", "running", "needsPostProcessing", "paused")


class SaveArgs(Struct, frozen=True):
    instance_id: int
    backup_id: int


def find(ctx: Context, instance_id: int, backup_id: int) -> Backup | None:
    return next((backup for backup in backups.of(ctx, instance_id) if backup.id == backup_id), None)


@step(weight=5)
def begin(work: StepContext) -> Sleep | None:
    """From now on the backup runs, on the host where the instance is."""
    with work.read() as ctx:
        store.ask_ahead(ctx, work.args.instance_id)
        disks.ask_ahead(ctx, work.args.instance_id)
        instance = store.get_unscoped(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
    if instance.host is None or not own:
        raise Failed("The instance has no disks to back up.")
    if any(disk.filesystem in UNMOUNTABLE for disk in own):
        raise Failed("A disk has a file system that cannot be backed up.")
    work.then(lambda ctx: _running(ctx, work.args.backup_id, instance.host))
    return None


def _running(ctx: Context, backup_id: int, host: int | None) -> None:
    ctx.db.update_later(backups.backup, {"id": backup_id}, status="running", host=host, updated=ctx.moment)


@step(weight=85)
def save(work: StepContext) -> Sleep | None:
    with work.read() as ctx:
        store.ask_ahead(ctx, work.args.instance_id)
        disks.ask_ahead(ctx, work.args.instance_id)
        backups.ask_ahead(ctx, work.args.instance_id)
        instance = store.get_unscoped(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
        backup = find(ctx, instance.id, work.args.backup_id)
    if backup is None:
        raise Failed("The backup was cancelled.")
    ref = hypervisor_client.backup_ref(backup)
    refs = tuple(hypervisor_client.disk_ref(instance, disk) for disk in own)
    driver = hypervisor_client.hypervisor(work.runtime)
    waiting = hypervisor_client.carry_out(work, [lambda order: driver.ensure_backup(ref, refs, order)])
    if waiting is not None:
        return waiting
    seen = driver.observe(ref)
    if seen.presence == "unknown":
        return hypervisor_client.ask_later(work)
    work.vars["disks"] = [_kept(disk, seen) for disk in own]
    return None


def _kept(disk: Disk, seen: ObservedBackup) -> dict[str, Any]:
    """A disk as the backup remembers it: what it was, and what its files took."""
    used = {disk.disk: disk.used for disk in seen.disks if disk.filesystem != "swap"}
    return {
        "id": disk.id,
        "label": disk.label,
        "filesystem": disk.filesystem,
        "size": disk.size,
        "used": used.get(disk.id, 0),
    }


@tx_step(weight=10)
def keep(ctx: Context, work: StepContext) -> Sleep | None:
    """The backup is there; what it takes the place of is forgotten."""
    store.ask_ahead(ctx, work.args.instance_id)
    configs.ask_ahead(ctx, work.args.instance_id)
    backups.ask_ahead(ctx, work.args.instance_id)
    instance = store.get_unscoped(ctx, work.args.instance_id)
    backup = find(ctx, instance.id, work.args.backup_id)
    if backup is None:
        raise Failed("The backup was cancelled.")
    remembered = [{name: getattr(config, name) for name in KEPT} for config in configs.of(ctx, instance.id)]
    ctx.db.update_later(
        backups.backup,
        {"id": backup.id},
        status="successful",
        disks=work.vars["disks"],
        configs=remembered,
        finished=ctx.moment,
        updated=ctx.moment,
    )
    ctx.db.update_later(store.instance, {"id": instance.id}, last_successful=ctx.moment)
    _forget_older(ctx, instance, backup)
    return None


def _forget_older(ctx: Context, instance: Instance, new: Backup) -> None:
    same = [backup for backup in backups.of(ctx, instance.id) if backup.type == new.type and backup.status != "running"]
    if new.type == "snapshot":
        old = [backup for backup in same if backup.id != new.id]
    else:
        good = [backup for backup in same if backup.status == "successful"]
        fills = slots.kept(good, ctx.now, _day(instance))
        old = [backup for backup in same if backup.id not in fills]
    purging.forget_backups(ctx, old)


def _day(instance: Instance) -> str | None:
    return None if instance.backup_day in (None, "Scheduling") else instance.backup_day


def failed(ctx: Context, work: StepContext, _reason: str) -> None:
    """Keep the latest failed backup for the owner to see."""
    backup = find(ctx, work.args.instance_id, work.args.backup_id)
    if backup is None:
        return
    ctx.db.update(backups.backup, {"id": backup.id}, status="failed", finished=ctx.moment, updated=ctx.moment)
    same = [other for other in backups.of(ctx, work.args.instance_id) if other.type == backup.type]
    old = [other for other in same if other.id != backup.id and other.status == "failed"]
    purging.forget_backups(ctx, old)


SNAPSHOT = Job(
    operation=Operation(kind="compute_snapshot", args=SaveArgs, steps=(begin, save, keep), failed=failed),
    action="compute_snapshot",
)


@tx_step(weight=5)
def note(ctx: Context, work: StepContext) -> Sleep | None:
    """Queue the backup of the day behind other work, unless a backup is queued already."""
    store.ask_ahead(ctx, work.args.instance_id)
    backups.ask_ahead(ctx, work.args.instance_id)
    instance = store.find_unscoped(ctx, work.args.instance_id)
    if instance is None or not instance.backups_enabled or instance.status == "deleting":
        return None
    if any(backup.type == "auto" and backup.status in UNDER_WAY for backup in backups.of(ctx, instance.id)):
        return None
    backup_id = insert(ctx, instance, "auto", None)
    # No job of the owner: it has no event and is never refused, however busy the instance is at that hour.
    enqueue(ctx, AUTOMATIC, SaveArgs(instance.id, backup_id), key=states.key(instance.id))
    return None


DAILY = Operation(kind="backups_daily", args=Args, steps=(note,), keep=False)
AUTOMATIC = Operation(kind="backups_automatic", args=SaveArgs, steps=(begin, save, keep), failed=failed, queue="bulk")


def insert(ctx: Context, instance: Instance, kind: str, label: str | None) -> int:
    return ctx.db.insert(
        backups.backup,
        account_id=instance.account_id,
        instance_id=instance.id,
        type=kind,
        status="pending",
        label=label,
        region=instance.region,
        disks=[],
        configs=[],
        created=ctx.moment,
        updated=ctx.moment,
    )


JOBS = (SNAPSHOT,)
OPERATIONS = (DAILY, AUTOMATIC)
