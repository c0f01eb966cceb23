"""Billing of an instance: plan, backups, additional addresses, and the managed service."""

from __future__ import annotations

from crofter.context import Context
from crofter.resources.account import store as accounts
from crofter.resources.billing import meters, prices, traffic
from crofter.resources.billing.meters import Metered, Price
from crofter.resources.billing.standing import AccountStanding, must_be_paid_up
from crofter.resources.instances.store import Instance
from crofter.resources.types import store as types
from crofter.resources.types.store import Type

__all__ = ["must_be_paid_up"]

COMPUTE, BACKUP, ADDRESS, MANAGED = "compute", "backup", "ip", "managed"
EVERYTHING = (COMPUTE, BACKUP, ADDRESS, MANAGED)


def begin(ctx: Context, instance: Instance, plan: Type, account: AccountStanding) -> None:
    meters.start(ctx, instance.account_id, _machine(instance, plan))
    if instance.backups_enabled:
        meters.start(ctx, instance.account_id, _backups(instance, plan))
    if account.managed:
        meters.start(ctx, instance.account_id, _managed(instance))


def restart(ctx: Context, instance: Instance, public: int) -> None:
    """Bill an instance again that gets a new host in place of a lost one. Closed accounts pay nothing."""
    account = accounts.by_id(ctx.db, instance.account_id)
    if not account.closed and not is_billed(ctx, instance.id):
        plan = _plan(ctx, instance)
        meters.start(ctx, instance.account_id, _machine(instance, plan))
        if instance.backups_enabled:
            meters.start(ctx, instance.account_id, _backups(instance, plan))
        if account.managed:
            meters.start(ctx, instance.account_id, _managed(instance))
        count_addresses(ctx, instance, public)


def is_billed(ctx: Context, instance_id: int) -> bool:
    """False for an instance whose host was lost: nothing that belongs to it is billed until it has a new host."""
    return bool(meters.running(ctx.db, COMPUTE, instance_id))


def begin_backups(ctx: Context, instance: Instance) -> None:
    if is_billed(ctx, instance.id):
        meters.start(ctx, instance.account_id, _backups(instance, _plan(ctx, instance)))


def end_backups(ctx: Context, instance: Instance) -> None:
    meters.stop(ctx, BACKUP, instance.id)


def begin_managed(ctx: Context, instance: Instance) -> None:
    if is_billed(ctx, instance.id):
        meters.start(ctx, instance.account_id, _managed(instance))


def change_plan(ctx: Context, instance: Instance, plan: Type) -> None:
    """The old plan is paid for up to now, the new one from now on."""
    meters.change(ctx, instance.account_id, _machine(instance, plan))
    meters.change(ctx, instance.account_id, _backups(instance, plan))


def difference(ctx: Context, instance_id: int, plan: Type) -> tuple[int, int]:
    """How much more the instance costs with another plan: by the hour, and at most by the month."""
    hourly = monthly = 0
    for what, price in ((COMPUTE, _price(plan)), (BACKUP, _backup_price(plan))):
        for running in meters.running(ctx.db, what, instance_id):
            hourly += price.hourly - running.hourly
            monthly += price.monthly - running.monthly
    return hourly, monthly


def count_addresses(ctx: Context, instance: Instance, public: int) -> None:
    """Pay for as many addresses as there are beyond the first."""
    surplus = max(0, public - 1)
    if not surplus or is_billed(ctx, instance.id):
        meters.count(ctx, instance.account_id, _address(instance), surplus)


def rename(ctx: Context, instance: Instance) -> None:
    """Invoices call it what it is called when they are made."""
    plan = _plan(ctx, instance)
    for thing in (_machine(instance, plan), _backups(instance, plan), _address(instance), _managed(instance)):
        meters.rename(ctx, thing.what, thing.object_id, thing.label)


def move(ctx: Context, instance: Instance, to_account: int) -> None:
    """Another account pays from now on. ``instance`` is the row as it was before it moved."""
    meters.stop(ctx, MANAGED, instance.id)
    for what in (COMPUTE, BACKUP, ADDRESS):
        meters.move(ctx, what, instance.id, to_account)
    if accounts.is_managed(ctx.db, to_account) and is_billed(ctx, instance.id):
        meters.start(ctx, to_account, _managed(instance))


def end(ctx: Context, instance: Instance) -> bool:
    """Stop billing an instance. False if it was not billed: its host was lost before, or its account is closed."""
    stopped = [meters.stop(ctx, what, instance.id) for what in EVERYTHING]
    return any(stopped)


def resume(ctx: Context, instance: Instance) -> None:
    """Resume billing after a failed deletion, without a gap. A closed account is not billed."""
    if not accounts.by_id(ctx.db, instance.account_id).closed:
        ended = meters.resume(ctx, COMPUTE, instance.id, EVERYTHING)
        if ended is not None:
            traffic.came_back(ctx.db, instance.account_id, instance.id, ended)


def _plan(ctx: Context, instance: Instance) -> Type:
    plan = types.find(ctx, instance.type)
    assert plan is not None  # a type that instances have is never forgotten, only offered no more
    return plan


def _named(instance: Instance) -> str:
    return f"{instance.label} ({instance.id})"


def _price(plan: Type) -> Price:
    return Price(plan.price_hourly, plan.price_monthly)


def _backup_price(plan: Type) -> Price:
    return Price(plan.backup_hourly, plan.backup_monthly)


def _machine(instance: Instance, plan: Type) -> Metered:
    return Metered(COMPUTE, instance.id, f"{plan.label} - {_named(instance)}", _price(plan), plan.transfer)


def _backups(instance: Instance, plan: Type) -> Metered:
    label = f"Backup Service - {plan.label} - {_named(instance)}"
    return Metered(BACKUP, instance.id, label, _backup_price(plan))


def _address(instance: Instance) -> Metered:
    return Metered(ADDRESS, instance.id, f"Additional IPv4 address - {_named(instance)}", prices.ADDRESS)


def _managed(instance: Instance) -> Metered:
    return Metered(MANAGED, instance.id, f"Managed Service - {_named(instance)}", prices.MANAGED)
