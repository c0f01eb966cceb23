"""Regions, as the catalogue file has them."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from crofter.catalogue import CatalogueTable, Entry
from crofter.resources.regions.store import region

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


class Resolvers(Struct, frozen=True, forbid_unknown_fields=True):
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
    resolvers: Resolvers


def _columns(entry: RegionEntry) -> dict[str, Any]:
    return {
        "country": entry.country,
        "capabilities": list(dict.fromkeys(entry.capabilities)),
        "resolvers_ipv4": entry.resolvers.ipv4,
        "resolvers_ipv6": entry.resolvers.ipv6,
    }


REGIONS = CatalogueTable("regions", RegionEntry, region, _columns)
