"""Regions as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import View


class Resolvers(View):
    """The DNS resolvers of a region, comma separated."""

    ipv4: str
    ipv6: str


class RegionView(View):
    """A place that offers services."""

    capabilities: list[str]
    country: Annotated[str, Meta(description="Two letters.", examples=["us"])]
    id: Annotated[str, Meta(description="Identifies the region.", examples=["us-east"])]
    resolvers: Resolvers
    status: Literal["ok", "outage"]
