"""What things cost this month, as it is shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.resources.billing.shapes import Dollars
from crofter.shapes import Id, Moment, View

ToDate = Annotated[float, Meta(description="US dollars from the first of the month to now, before tax.")]
Forecast = Annotated[float, Meta(description="US dollars of the whole month if nothing changes, before tax.")]


class CostItem(View):
    """One thing that costs money by the hour."""

    forecast: Forecast
    hourly: Dollars
    label: str
    month_to_date: ToDate
    monthly: Dollars
    service: str


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


class ServiceCost(View):
    """What all things of one sort cost together."""

    forecast: Forecast
    month_to_date: ToDate
    service: str


class TagCost(View):
    """What all objects with a tag cost together; one with two tags counts for both."""

    forecast: Forecast
    month_to_date: ToDate
    tag: Annotated[str | None, Meta(description="Null: of all that have none.")]


class AccountCost(View, rename={"from_": "from"}):
    """What the account costs this month, without traffic, tax and credits."""

    forecast: Forecast
    from_: Moment
    hourly: Dollars
    month_to_date: ToDate
    monthly: Dollars
    services: list[ServiceCost]
    tags: list[TagCost]
    to: Moment
