"""Instances: clone, statistics, transfer."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.errors import Invalid
from crofter.resources.instances import cloning, usage
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.shapes import Clone, InstanceView, MonthTransfer, Stats, TransferView


@endpoint(
    "POST /v4/compute/instances/{compute_id}/clone",
    scope="computes:read_write",
    grant="add_computes",
    events=("compute_clone",),
)
def clone_instance(ctx: Context, instance: TheInstance, body: Clone) -> InstanceView:
    """Copy an instance's disks and profiles onto a new or an existing instance."""
    return cloning.clone(ctx, instance, body)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/stats",
    scope="computes:read_only",
    grant="compute:read_only",
    rate="stats",
    slow=True,
    refuses=(Invalid,),
)
def view_stats(ctx: Context, instance: TheInstance) -> Stats:
    """View processor, disk and network use of the last 24 hours."""
    return usage.recent(ctx, instance)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/stats/{year}/{month}",
    scope="computes:read_only",
    grant="compute:read_only",
    rate="stats",
    slow=True,
    refuses=(Invalid,),
)
def view_month_stats(ctx: Context, instance: TheInstance, year: int, month: int) -> Stats:
    """View processor, disk and network use of a month."""
    return usage.of_month(ctx, instance, year, month)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/transfer",
    scope="computes:read_only",
    grant="compute:read_only",
    slow=True,
)
def view_transfer(ctx: Context, instance: TheInstance) -> TransferView:
    """View the traffic of the current month."""
    return usage.transfer(ctx, instance)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/transfer/{year}/{month}",
    scope="computes:read_only",
    grant="compute:read_only",
    slow=True,
    refuses=(Invalid,),
)
def view_month_transfer(ctx: Context, instance: TheInstance, year: int, month: int) -> MonthTransfer:
    """View the traffic of a month."""
    return usage.month_transfer(ctx, instance, year, month)
