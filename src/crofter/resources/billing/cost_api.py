"""Costs of the month: of one instance, of the account."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.resources.billing import cost_forecast
from crofter.resources.billing.cost_shapes import AccountCost, InstanceCost
from crofter.resources.instances import store as instances

TheInstance = Annotated[instances.Instance, Lookup(instances.one, "compute_id")]


@endpoint("GET /v4/account/cost", scope="account:read_only", grant="account:read_only", slow=True)
def view_account_cost(ctx: Context) -> AccountCost:
    """View what the account costs this month, by service and by tag, with a forecast."""
    return cost_forecast.of_account(ctx)


@endpoint("GET /v4/compute/instances/{compute_id}/cost", scope="computes:read_only", grant="compute:read_only")
def view_instance_cost(ctx: Context, instance: TheInstance) -> InstanceCost:
    """View what an instance costs this month, with a forecast."""
    return cost_forecast.of_instance(ctx, instance)
