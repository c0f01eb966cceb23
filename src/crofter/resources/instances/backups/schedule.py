"""When an instance is backed up: a day and a window, chosen by its owner or by the server."""

from __future__ import annotations

from crofter import clock
from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, enqueue, schedules, tx_step
from crofter.resources.instances import store
from crofter.resources.instances.backups.operations import DAILY
from crofter.resources.instances.backups.slots import DAYS
from crofter.resources.instances.looking import Args
from crofter.resources.instances.store import Instance

WINDOWS = tuple(f"W{hour}" for hour in range(0, 24, 2))
UNDECIDED = "Scheduling"
DECIDE_AFTER = 5 * clock.MINUTE


@tx_step()
def choose(ctx: Context, work: StepContext) -> Sleep | None:
    """Choose day and time from the instance's number, so that backups are spread over the week."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    if instance is None or not instance.backups_enabled:
        return None
    changes = {}
    if instance.backup_day in (None, UNDECIDED):
        changes["backup_day"] = DAYS[instance.id % 7]
    if instance.backup_window in (None, UNDECIDED):
        changes["backup_window"] = WINDOWS[instance.id * 5 % 12]
    if changes:
        ctx.db.update(store.instance, {"id": instance.id}, **changes)
    plan(ctx, store.get_unscoped(ctx, instance.id))
    return None


CHOOSE = Operation(kind="backups_choose", args=Args, steps=(choose,), keep=False)


def begin(ctx: Context, instance_id: int) -> None:
    """Backups are on: a time for them is found shortly."""
    enqueue(ctx, CHOOSE, Args(instance_id), due=ctx.now + DECIDE_AFTER)


def plan(ctx: Context, instance: Instance) -> None:
    """Put the daily backup on the clock, at a minute of the window that is the instance's own."""
    if not instance.backups_enabled or instance.backup_window in (None, UNDECIDED):
        return
    hour = int(str(instance.backup_window)[1:])
    minute = instance.id * 7 % 120
    rule = f"daily {hour + minute // 60:02}:{minute % 60:02}"
    schedules.add(ctx, _name(instance.id), DAILY, Args(instance.id), rule, account_id=instance.account_id)


def changed(ctx: Context, before: Instance, after: Instance) -> None:
    """The owner has chosen a time, or has left the choice to the server again."""
    decided = UNDECIDED not in (before.backup_day, before.backup_window)
    if decided and UNDECIDED in (after.backup_day, after.backup_window):
        begin(ctx, after.id)
    plan(ctx, after)


def end(ctx: Context, instance_id: int) -> None:
    schedules.remove(ctx, _name(instance_id))


def _name(instance_id: int) -> str:
    return f"backup:{instance_id}"
