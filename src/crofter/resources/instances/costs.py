"""What an instance costs: its plan, its backups, and addresses beyond the first."""

from __future__ import annotations

from crofter.context import Context
from crofter.resources.billing import metering
from crofter.resources.instances.store import Instance
from crofter.resources.types import store as types
from crofter.resources.types.store import Type

COMPUTE, BACKUP, ADDRESS = "compute", "backup", "ip"
EXTRA_ADDRESS = (1_500, 1_000_000)
"""Micro-dollars by the hour and at most by the month, for each public address after the first."""


def begin(ctx: Context, instance: Instance, plan: Type) -> None:
    label = f"{plan.label} - {instance.label} ({instance.id})"
    metering.start(ctx, instance.account_id, COMPUTE, instance.id, label, plan.price_hourly, plan.price_monthly)
    if instance.backups_enabled:
        begin_backups(ctx, instance, plan)


def begin_backups(ctx: Context, instance: Instance, plan: Type | None = None) -> None:
    plan = plan or types.find(ctx, instance.type)
    if plan is None:
        return
    label = f"Backup Service - {plan.label} - {instance.label} ({instance.id})"
    metering.start(ctx, instance.account_id, BACKUP, instance.id, label, plan.backup_hourly, plan.backup_monthly)


def end_backups(ctx: Context, instance: Instance) -> None:
    metering.stop(ctx, BACKUP, instance.id)


def change_plan(ctx: Context, instance: Instance, plan: Type) -> None:
    """The old plan is paid for up to now, the new one from now on."""
    metering.stop(ctx, COMPUTE, instance.id)
    metering.stop(ctx, BACKUP, instance.id)
    begin(ctx, instance, plan)


def count_addresses(ctx: Context, instance: Instance, public: int) -> None:
    """Pay for as many addresses as there are beyond the first."""
    metering.stop(ctx, ADDRESS, instance.id)
    if public > 1:
        hourly, monthly = EXTRA_ADDRESS
        label = f"Additional IPv4 addresses ({public - 1}) - {instance.label} ({instance.id})"
        metering.start(
            ctx, instance.account_id, ADDRESS, instance.id, label, hourly * (public - 1), monthly * (public - 1)
        )


def end(ctx: Context, instance: Instance) -> None:
    for what in (COMPUTE, BACKUP, ADDRESS):
        metering.stop(ctx, what, instance.id)
