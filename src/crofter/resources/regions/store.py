"""Regions, as the catalogue file has them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Integer, Text, bindparam, select

from crofter.context import Context
from crofter.db import Json, Row, Session, query, table
from crofter.edge.listing import Collection
from crofter.resources.regions.shapes import RegionView, Resolvers

region = table(
    "region",
    Column("slug", Text, primary_key=True),
    Column("position", Integer, nullable=False, unique=True),
    Column("country", Text, nullable=False),
    Column("capabilities", Json, nullable=False),
    Column("resolvers_ipv4", Text, nullable=False),
    Column("resolvers_ipv6", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="ok"),
)


class Region(Row):
    slug: str
    country: str
    capabilities: list[str]
    resolvers_ipv4: str
    resolvers_ipv6: str
    status: str

    def view(self) -> RegionView:
        resolvers = Resolvers(self.resolvers_ipv4, self.resolvers_ipv6)
        return RegionView(self.capabilities, self.country, self.slug, resolvers, self.status)  # type: ignore[arg-type]


_SHOWN = select(*(region.c[name] for name in Region.__struct_fields__))
REGIONS = Collection(RegionView, _SHOWN, Region, key=region.c.position, columns={})
_ONE = query(_SHOWN.where(region.c.slug == bindparam("slug")), Region)
_SLUGS = query(select(region.c.slug))


def one(ctx: Context, region_id: str) -> Region:
    return ctx.db.one(_ONE, slug=region_id)


def load(db: Session, regions: Sequence[Region]) -> None:
    """Make the table what the catalogue says; a region's outage outlives a restart."""
    known = set(db.column(_SLUGS))
    for slug in known - {one.slug for one in regions}:
        db.delete(region, slug=slug)
    db.run(_UNPLACED)
    for position, one in enumerate(regions, 1):
        values = {
            "position": position,
            "country": one.country,
            "capabilities": one.capabilities,
            "resolvers_ipv4": one.resolvers_ipv4,
            "resolvers_ipv6": one.resolvers_ipv6,
        }
        if one.slug in known:
            db.update(region, {"slug": one.slug}, **values)
        else:
            db.insert(region, slug=one.slug, status="ok", **values)


_UNPLACED = query(region.update().values(position=-region.c.position))
"""Frees the places for the new order, since no two regions may share one."""
