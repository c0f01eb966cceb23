"""Costs of an instance."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.resources.billing import cost_forecast
from crofter.resources.billing.shapes import CostItem, Dollars, Forecast, ToDate
from crofter.resources.instances import store
from crofter.shapes import Id, Moment, View

TAG = "billing"
TheInstance = Annotated[store.Instance, Lookup(store.one, "compute_id")]


class InstanceCost(View, rename={"from_": "from"}):
    """What an instance costs this month."""

    forecast: Forecast
    from_: Moment
    hourly: Dollars
    id: Id
    items: list[CostItem]
    month_to_date: ToDate
    monthly: Dollars
    to: Moment


@endpoint("GET /v4/compute/instances/{compute_id}/cost", scope="computes:read_only", grant="compute:read_only")
def view_instance_cost(ctx: Context, instance: TheInstance) -> InstanceCost:
    """View what an instance costs this month, with a forecast."""
    cost = cost_forecast.of_instance(ctx, instance.id)
    return InstanceCost(
        forecast=cost.forecast,
        from_=cost.start,
        hourly=cost.hourly,
        id=instance.id,
        items=cost.items,
        month_to_date=cost.month_to_date,
        monthly=cost.monthly,
        to=ctx.moment,
    )
