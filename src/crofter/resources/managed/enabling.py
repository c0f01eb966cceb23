"""Managed service for a whole account: switched on by its owner, and off by the support staff."""

from __future__ import annotations

from crofter.context import Context
from crofter.errors import Invalid
from crofter.events import record
from crofter.resources.account import store as accounts
from crofter.resources.billing import meters
from crofter.resources.instances import costs
from crofter.resources.instances import store as instances


def enable(ctx: Context) -> None:
    """Every instance that stays costs more from now on."""
    if accounts.by_id(ctx.db, ctx.account_id).managed:
        raise Invalid("Managed service is already enabled for this account.")
    ctx.db.update(accounts.account, {"id": ctx.account_id}, managed=True)
    own = instances.these(ctx, [number for number, _ in instances.labels(ctx)])
    for instance in sorted(own, key=lambda instance: instance.id):
        if instance.status != "deleting":
            costs.begin_managed(ctx, instance)
    record(ctx, "managed_enabled", accounts.ENTITY)


def disable(ctx: Context, account_id: int) -> bool:
    """For the support staff, since no account can do it by itself; whether it was enabled."""
    meters.stop_kind(ctx.db, account_id, costs.MANAGED, ctx.now)
    return ctx.db.update(accounts.account, {"id": account_id, "managed": True}, managed=False) > 0
