"""Regions, and how they fare."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Text, bindparam, select

from crofter.catalogue import Offered
from crofter.context import Context
from crofter.db import Json, Session, query, table
from crofter.db.collections import Collection
from crofter.resources.regions.shapes import RegionView, Resolvers

region = table(
    "region",
    Column("slug", Text, primary_key=True),
    Column("position", Integer, unique=True),
    Column("country", Text, nullable=False),
    Column("capabilities", Json, nullable=False),
    Column("resolvers_ipv4", Text, nullable=False),
    Column("resolvers_ipv6", Text, nullable=False),
    # Of the server rather than of the file: an outage outlives a restart.
    Column("status", Text, nullable=False, server_default="ok"),
    sqlite_without_rowid=True,
)


class Region(Offered):
    slug: str
    country: str
    capabilities: list[str]
    resolvers_ipv4: str
    resolvers_ipv6: str
    status: str

    def view(self) -> RegionView:
        resolvers = Resolvers(self.resolvers_ipv4, self.resolvers_ipv6)
        return RegionView(self.capabilities, self.country, self.slug, resolvers, self.status)  # type: ignore[arg-type]


_ALL = select(*(region.c[name] for name in Region.__struct_fields__))
_OFFERED = _ALL.where(region.c.position.is_not(None))
REGIONS = Collection(RegionView, _OFFERED, Region, key=region.c.position, columns={})
_ONE = query(_OFFERED.where(region.c.slug == bindparam("slug")), Region)
_FIND = query(_ALL.where(region.c.slug == bindparam("slug")), Region)


def one(ctx: Context, region_id: str) -> Region:
    return ctx.db.one(_ONE, slug=region_id)


def find(ctx: Context, slug: str) -> Region | None:
    """The region, be it offered still or not; None if there never was one."""
    return ctx.db.maybe(_FIND, slug=slug)


_SLUGS = query(select(region.c.slug).order_by(region.c.slug))


def slugs(db: Session) -> list[str]:
    """Every region there is or was."""
    return db.column(_SLUGS)
