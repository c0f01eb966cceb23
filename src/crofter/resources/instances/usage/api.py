"""Endpoints for the usage of an instance: statistics and traffic."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import asks_hosts, endpoint
from crofter.errors import Invalid
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.shapes import MonthTransfer, Stats, TransferView
from crofter.resources.instances.usage import rules

TAG = "instances"


@endpoint(
    "GET /v4/compute/instances/{compute_id}/stats",
    scope="computes:read_only",
    grant="compute:read_only",
    rate="stats",
    slow=True,
    refuses=(Invalid,),
)
@asks_hosts
def view_stats(ctx: Context, instance: TheInstance) -> Stats:
    """View processor, disk and network use of the last 24 hours."""
    return rules.recent(ctx, instance)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/stats/{year}/{month}",
    scope="computes:read_only",
    grant="compute:read_only",
    rate="stats",
    slow=True,
    refuses=(Invalid,),
)
@asks_hosts
def view_month_stats(ctx: Context, instance: TheInstance, year: int, month: int) -> Stats:
    """View processor, disk and network use of a month."""
    return rules.of_month(ctx, instance, year, month)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/transfer",
    scope="computes:read_only",
    grant="compute:read_only",
    slow=True,
)
@asks_hosts
def view_transfer(ctx: Context, instance: TheInstance) -> TransferView:
    """View the traffic of the current month."""
    return rules.transfer(ctx, instance)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/transfer/{year}/{month}",
    scope="computes:read_only",
    grant="compute:read_only",
    slow=True,
    refuses=(Invalid,),
)
@asks_hosts
def view_month_transfer(ctx: Context, instance: TheInstance, year: int, month: int) -> MonthTransfer:
    """View the traffic of a month."""
    return rules.month_transfer(ctx, instance, year, month)
