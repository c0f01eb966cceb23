"""Cost of instances."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.db import Row
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, select
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.billing import cost_forecast
from crofter.resources.billing.cost_forecast import MonthCost
from crofter.resources.billing.shapes import CostItem, Dollars, Forecast, ToDate
from crofter.resources.instances import store
from crofter.resources.instances.labels import InstanceLabel
from crofter.resources.instances.store import KIND, instance
from crofter.resources.users.store import by_restricted
from crofter.shapes import Filtered, Id, Moment, Page, View

TAG = "billing"
TheInstance = Annotated[store.Instance, Lookup(store.one, "compute_id")]


class InstanceCost(View, rename={"from_": "from"}):
    """Cost of an instance in this month."""

    forecast: Forecast
    from_: Moment
    hourly: Dollars
    id: Filtered[Id]
    items: list[CostItem]
    label: Filtered[InstanceLabel]
    month_to_date: ToDate
    monthly: Dollars
    to: Moment


class Named(Row):
    id: int
    label: str


_NAMED = select(instance.c.id, instance.c.label).where(instance.c.account_id == bindparam("account_id"))
_COLUMNS = {"id": instance.c.id, "label": instance.c.label}
NAMED = by_restricted(
    Collection(InstanceCost, _NAMED, Named, key=instance.c.id, columns=_COLUMNS, tally=store.INSTANCES), KIND
)


def _view(ctx: Context, named: Named | store.Instance, cost: MonthCost) -> InstanceCost:
    return InstanceCost(
        forecast=cost.forecast,
        from_=cost.start,
        hourly=cost.hourly,
        id=named.id,
        items=cost.items,
        label=named.label,
        month_to_date=cost.month_to_date,
        monthly=cost.monthly,
        to=ctx.moment,
    )


@endpoint("GET /v4/compute/instances/{compute_id}/cost", scope="computes:read_only", grant="compute:read_only")
def view_instance_cost(ctx: Context, instance: TheInstance) -> InstanceCost:
    """View what an instance costs this month, with a forecast."""
    return _view(ctx, instance, cost_forecast.of_instances(ctx, [instance.id])[instance.id])


@endpoint("GET /v4/account/cost/instances", scope="account:read_only", grant="account:read_only", slow=True, weight=5)
def list_instance_costs(ctx: Context, listing: Listing) -> Page[InstanceCost]:
    """List what each instance that the caller may view costs this month, with a forecast."""

    def views(rows: list[Named]) -> list[InstanceCost]:
        costs = cost_forecast.of_instances(ctx, [row.id for row in rows])
        return [_view(ctx, row, costs[row.id]) for row in rows]

    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    return listing.of(ctx, NAMED[ctx.actor.restricted], views, **bounds)
