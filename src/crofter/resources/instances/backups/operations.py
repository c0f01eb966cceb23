"""Taking backups, forgetting them, and bringing one back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import BackupRef, DiskRef
from crofter.engine import Failed, Operation, Sleep, Work, enqueue, step, tx_step
from crofter.resources.instances import hands, layout, specs, states, store
from crofter.resources.instances.backups import slots
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import KEPT
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.layout import DiskPlan
from crofter.resources.instances.operations.deploy import define_if_new, make_disks
from crofter.resources.instances.operations.looking import Args, look, look_again
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance

UNMOUNTABLE = ("raw", "initrd")


class SaveArgs(Struct, frozen=True):
    instance_id: int
    backup_id: int


class PurgeArgs(Struct, frozen=True):
    refs: list[tuple[int, int]]
    """Host and number of each backup."""


class RestoreArgs(Struct, frozen=True):
    instance_id: int
    backup_id: int
    source_id: int
    """The instance that was backed up."""
    overwrite: bool
    was_running: bool
    config_id: int | None = None


def _one(ctx: Context, instance_id: int, backup_id: int) -> Backup | None:
    return next((one for one in backups.of(ctx, instance_id) if one.id == backup_id), None)


@step(weight=5)
def begin(work: Work) -> Sleep | None:
    """From now on the backup runs, on the host where the instance is."""
    instance = hands.current(work)
    if instance.host is None:
        raise Failed("The instance has no disks to back up.")
    work.then(lambda ctx: _running(ctx, work.args.backup_id, instance.host))
    return None


def _running(ctx: Context, backup_id: int, host: int | None) -> None:
    ctx.db.update(backups.backup, {"id": backup_id}, status="running", host=host, updated=ctx.moment)


@step(weight=85)
def save(work: Work) -> Sleep | None:
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
        backup = _one(ctx, instance.id, work.args.backup_id)
    if backup is None or backup.host is None:
        raise Failed("The backup was cancelled.")
    if any(disk.filesystem in UNMOUNTABLE for disk in own):
        raise Failed("A disk has a file system that cannot be backed up.")
    ref = BackupRef(backup.host, backup.id)
    refs = tuple(DiskRef(instance.host or 0, disk.id) for disk in own)
    driver = hands.hypervisor(work.world)
    waiting = hands.carry_out(work, [lambda order: driver.ensure_backup(ref, refs, order)])
    if waiting is None:
        saved = {one.disk: one for one in driver.observe(ref).disks}
        work.vars["disks"] = [
            {
                "id": disk.id,
                "label": disk.label,
                "filesystem": disk.filesystem,
                "size": disk.size,
                "used": 0 if disk.filesystem == "swap" or disk.id not in saved else saved[disk.id].used,
            }
            for disk in own
        ]
    return waiting


@tx_step(weight=10)
def keep(ctx: Context, work: Work) -> Sleep | None:
    """The backup is there; what it takes the place of is forgotten."""
    instance = store.again(ctx, work.args.instance_id)
    backup = _one(ctx, instance.id, work.args.backup_id)
    if backup is None:
        raise Failed("The backup was cancelled.")
    remembered = [{name: getattr(one, name) for name in KEPT} for one in configs.of(ctx, instance.id)]
    ctx.db.update(
        backups.backup,
        {"id": backup.id},
        status="successful",
        disks=work.vars["disks"],
        configs=remembered,
        finished=ctx.moment,
        updated=ctx.moment,
    )
    ctx.db.update(store.instance, {"id": instance.id}, last_successful=ctx.moment)
    _make_room(ctx, instance, backup)
    return None


def _make_room(ctx: Context, instance: Instance, new: Backup) -> None:
    same = [one for one in backups.of(ctx, instance.id) if one.type == new.type and one.status != "running"]
    if new.type == "snapshot":
        old = [one for one in same if one.id != new.id]
    else:
        good = [one for one in same if one.status == "successful"]
        fills = slots.kept(good, ctx.now, _day(instance))
        old = [one for one in same if one.id not in fills]
    forget(ctx, old)


def _day(instance: Instance) -> str | None:
    return None if instance.backup_day in (None, "Scheduling") else instance.backup_day


def forget(ctx: Context, old: list[Backup]) -> None:
    """Backups are gone at once for their owner, and from their hosts as soon as can be."""
    refs = [(one.host, one.id) for one in old if one.host is not None]
    for one in old:
        ctx.db.delete(backups.backup, id=one.id)
    if refs:
        enqueue(ctx, PURGE, PurgeArgs(refs))


def failed(ctx: Context, work: Work, _reason: str) -> None:
    ctx.db.update(backups.backup, {"id": work.args.backup_id}, status="failed", finished=ctx.moment, updated=ctx.moment)


@step(retries=50)
def purge(work: Work) -> Sleep | None:
    driver = hands.hypervisor(work.world)
    refs = [BackupRef(host, number) for host, number in work.args.refs]
    return hands.carry_out(work, [lambda order, ref=ref: driver.ensure_gone(ref, order) for ref in refs])  # type: ignore[misc]


PURGE = Operation(kind="backups_purge", args=PurgeArgs, steps=(purge,), keep=False)

SNAPSHOT = Job(
    operation=Operation(kind="compute_snapshot", args=SaveArgs, steps=(begin, save, keep), failed=failed),
    action="compute_snapshot",
)


@tx_step(weight=5)
def note(ctx: Context, work: Work) -> Sleep | None:
    """A backup of the day is begun, unless backups were switched off meanwhile."""
    instance = hands.exists(ctx, work.args.instance_id)
    if instance is None or not instance.backups_enabled or instance.status not in states.AT_REST:
        return None
    backup_id = insert(ctx, instance, "auto", None)
    enqueue(ctx, AUTOMATIC, SaveArgs(instance.id, backup_id), key=states.key(instance.id))
    return None


DAILY = Operation(kind="backups_daily", args=Args, steps=(note,), keep=False)
AUTOMATIC = Operation(kind="backups_automatic", args=SaveArgs, steps=(begin, save, keep), failed=failed, lane="bulk")


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


# ---- restore --------------------------------------------------------------------------------------------------------


@step(weight=10)
def make_way(work: Work) -> Sleep | None:
    """To overwrite, the machine goes off and its disks go."""
    if not work.args.overwrite:
        return None
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        own = disks.of(ctx, instance.id)
    if instance.host is None:
        return None
    driver = hands.hypervisor(work.world)
    ref = hands.domain(instance)
    waiting = hands.carry_out(work, [lambda order: driver.ensure_off(ref, order, grace=120)])
    if waiting is not None:
        return waiting
    old = [hands.volume(instance, disk) for disk in own]
    return hands.carry_out(work, [lambda order, one=one: driver.ensure_gone(one, order) for one in old])  # type: ignore[misc]


@tx_step(weight=5)
def plan(ctx: Context, work: Work) -> Sleep | None:
    instance = store.again(ctx, work.args.instance_id)
    backup = _one(ctx, work.args.source_id, work.args.backup_id)
    if backup is None or backup.host is None:
        raise Failed("The backup is gone.")
    if work.args.overwrite:
        ctx.db.delete(disks.disk, instance_id=instance.id)
        ctx.db.delete(configs.config, instance_id=instance.id)
        ctx.db.update(store.instance, {"id": instance.id}, booted_config=None)
    plans, made = write_down(ctx, instance, backup)
    work.vars["disks"] = msgspec.to_builtins(plans)
    work.vars["config_id"] = made[0].id if made else None
    return None


def write_down(ctx: Context, instance: Instance, backup: Backup) -> tuple[list[DiskPlan], list[configs.Config]]:
    """The disks and profiles that a backup remembers, as new rows of an instance."""
    numbers: dict[int, int] = {}
    plans: list[DiskPlan] = []
    for kept_disk in backup.disks:
        made = disks.insert(
            ctx,
            instance.id,
            label=kept_disk["label"],
            size=kept_disk["size"],
            filesystem=kept_disk["filesystem"],
        )
        numbers[kept_disk["id"]] = made.id
        plans.append(DiskPlan(made.id, backup_id=backup.id, backup_host=backup.host, backup_disk=kept_disk["id"]))
    return plans, [layout.config_again(ctx, instance, kept_config, numbers) for kept_config in backup.configs]


@step(weight=15)
def turn_on(work: Work) -> Sleep | None:
    """On again, if overwriting had turned it off."""
    config_id: Any = work.vars.get("config_id")
    if not (work.args.overwrite and work.args.was_running and config_id):
        return None
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        wanted = specs.spec(ctx, instance, configs.one(ctx, instance.id, int(config_id)))
    driver = hands.hypervisor(work.world)
    ref = hands.domain(instance)
    waiting = hands.carry_out(work, [lambda order: driver.ensure_domain(ref, wanted, order)])
    waiting = waiting or hands.carry_out(work, [lambda order: driver.ensure_running(ref, order)])
    if waiting is None:
        work.then(lambda ctx: _booted(ctx, instance.id, int(config_id)))
    return waiting


def _booted(ctx: Context, instance_id: int, config_id: int) -> None:
    ctx.db.update(store.instance, {"id": instance_id}, booted_config=config_id)


RESTORE = Job(
    operation=Operation(
        kind="backups_restore",
        args=RestoreArgs,
        steps=(make_way, plan, make_disks, define_if_new, turn_on, look),
        failed=look_again,
    ),
    action="backups_restore",
    during="restoring",
)

JOBS = (SNAPSHOT, RESTORE)
OPERATIONS = (PURGE, DAILY, AUTOMATIC)
