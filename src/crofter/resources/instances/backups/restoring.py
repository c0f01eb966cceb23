"""Bringing a backup back."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from crofter.context import Context
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.resources.instances import hypervisor_client, neighbours, store
from crofter.resources.instances.backups.operations import find
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.create import operations as deploying
from crofter.resources.instances.create.operations import DiskPlan, define_if_new, make_disks
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.looking import look, look_again
from crofter.resources.instances.power.operations import boot_with, place, switch_off
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance

GONE = "The backup is gone."


class RestoreArgs(Struct, frozen=True):
    instance_id: int
    backup_id: int
    source_id: int
    """The instance that was backed up."""
    overwrite: bool
    was_running: bool
    config_id: int | None = None


@step(weight=10)
def make_way(work: StepContext) -> Sleep | None:
    """To overwrite, the machine goes off and its disks go."""
    if not work.args.overwrite:
        return None
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        old = [hypervisor_client.disk_ref(instance, disk) for disk in disks.of(ctx, instance.id)]
        if find(ctx, work.args.source_id, work.args.backup_id) is None:
            raise Failed(GONE)  # while there still is something to lose
    return switch_off(work) or hypervisor_client.remove(work, old)


@tx_step(weight=5)
def plan(ctx: Context, work: StepContext) -> Sleep | None:
    instance = store.get_unscoped(ctx, work.args.instance_id)
    backup = find(ctx, work.args.source_id, work.args.backup_id)
    if backup is None:
        raise Failed(GONE)
    if work.args.overwrite:
        deploying.clear(ctx, instance)
    plans, made = write_down(ctx, instance, backup)
    if work.args.overwrite:
        neighbours.redeployed(ctx, instance, made[0].id if made else None)
    work.vars["disks"] = msgspec.to_builtins(plans)
    work.vars["config_id"] = made[0].id if made else None
    return None


def write_down(ctx: Context, instance: Instance, backup: Backup) -> tuple[list[DiskPlan], list[configs.Config]]:
    """The disks and profiles that a backup remembers, as new rows of an instance."""
    numbers: dict[int, int] = {}
    plans: list[DiskPlan] = []
    for kept in backup.disks:
        made = disks.insert(ctx, instance.id, label=kept["label"], size=kept["size"], filesystem=kept["filesystem"])
        numbers[kept["id"]] = made.id
        plans.append(DiskPlan(made.id, backup_id=backup.id, backup_host=backup.host, backup_disk=kept["id"]))
    return plans, [deploying.config_again(ctx, instance, kept, numbers) for kept in backup.configs]


@step(weight=15)
def turn_on(work: StepContext) -> Sleep | None:
    """Power on again if the restore had powered off."""
    config_id = work.vars.get("config_id")
    if config_id is None or not (work.args.overwrite and work.args.was_running):
        return None
    return boot_with(work, int(config_id))


RESTORE = Job(
    operation=Operation(
        kind="backups_restore",
        args=RestoreArgs,
        steps=(place, make_way, plan, make_disks, define_if_new, turn_on, look),
        failed=look_again,
    ),
    action="backups_restore",
    during="restoring",
)

JOBS = (RESTORE,)
