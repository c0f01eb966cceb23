"""Regions: how they are shown, their rows, and what the catalogue file says of them."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from crofter.catalogue import CatalogueTable, Entry, Offered
from crofter.context import Context
from crofter.db import Json, Session, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, Integer, Text, bindparam, select
from crofter.shapes import Filtered, View, Words

# ---- shapes ---------------------------------------------------------------------------------------------------------


class Resolvers(View):
    """The DNS resolvers of a region, comma separated."""

    ipv4: str
    ipv6: str


class RegionView(View):
    """A place that offers services."""

    capabilities: Words[list[str]]
    country: Filtered[Annotated[str, Meta(description="Two letters.", examples=["us"])]]
    id: Annotated[str, Meta(description="Identifies the region.", examples=["us-east"])]
    resolvers: Resolvers
    status: Literal["ok", "outage"]


# ---- rows -----------------------------------------------------------------------------------------------------------

region = table(
    "region",
    Column("slug", Text, primary_key=True),
    Column("position", Integer, unique=True),
    Column("country", Text, nullable=False),
    Column("capabilities", Json, nullable=False),
    Column("resolvers_ipv4", Text, nullable=False),
    Column("resolvers_ipv6", Text, nullable=False),
    # State of the server and not of the file: an outage outlives a restart.
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

    def view(self, ctx: Context) -> RegionView:
        resolvers = Resolvers(self.resolvers_ipv4, self.resolvers_ipv6)
        return RegionView(usable(ctx, self), self.country, self.slug, resolvers, self.status)  # type: ignore[arg-type]


LIBVIRT_LACKS = ("NodeBalancers",)
"""Capabilities that no real driver serves."""
_ALL = select(*(region.c[name] for name in Region.__struct_fields__))
_OFFERED = _ALL.where(region.c.position.is_not(None))
REGIONS = Collection(RegionView, _OFFERED, Region, key=region.c.position, columns={"country": region.c.country})
_ONE = query(_OFFERED.where(region.c.slug == bindparam("slug")), Region)
_FIND = query(_ALL.where(region.c.slug == bindparam("slug")), Region)


def usable(ctx: Context, offering: Region) -> list[str]:
    """Return the capabilities of a region that the region's driver serves."""
    unserved = LIBVIRT_LACKS if ctx.runtime.settings.real_regions((offering.slug,)) else ()
    return [name for name in offering.capabilities if name not in unserved]


def one(ctx: Context, region_id: str) -> Region:
    return ctx.db.one(_ONE, slug=region_id)


def find(ctx: Context, slug: str) -> Region | None:
    """The region, be it offered still or not; None if there never was one."""
    return ctx.db.maybe(_FIND, slug=slug)


_SLUGS = query(select(region.c.slug).order_by(region.c.slug))


def slugs(db: Session) -> list[str]:
    """Every region there is or was."""
    return db.column(_SLUGS)


# ---- the catalogue file ---------------------------------------------------------------------------------------------

Capability = Literal[
    "Computes",
    "NodeBalancers",
    "Block Storage",
    "Object Storage",
    "GPU Computes",
    "Kubernetes",
    "Cloud Firewall",
    "Vlans",
    "Bare Metal",
]


def _is_address(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


class EntryResolvers(Struct, frozen=True, forbid_unknown_fields=True):
    """Addresses, comma separated."""

    ipv4: str
    ipv6: str

    def __post_init__(self) -> None:
        for text, version in ((self.ipv4, 4), (self.ipv6, 6)):
            for address in text.split(","):
                if not _is_address(address.strip(), version):
                    raise ValueError(f"{address.strip()!r} is not an IPv{version} address")


class RegionEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z", max_length=64)]
    country: Annotated[str, Meta(pattern=r"^[a-z]{2}\Z")]
    capabilities: Annotated[list[Capability], Meta(min_length=1)]
    resolvers: EntryResolvers


def _columns(entry: RegionEntry) -> dict[str, Any]:
    return {
        "country": entry.country,
        "capabilities": list(dict.fromkeys(entry.capabilities)),
        "resolvers_ipv4": entry.resolvers.ipv4,
        "resolvers_ipv6": entry.resolvers.ipv6,
    }


CATALOGUE = CatalogueTable("regions", RegionEntry, region, _columns)
