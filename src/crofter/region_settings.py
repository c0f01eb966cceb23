"""Settings of single regions, the domain of host names, and what follows from them."""

from __future__ import annotations

import ipaddress
import re
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Literal

import msgspec

HOST_SUFFIX = "ip.computeusercontent.com"
"""Domain of host names unless the settings name another one."""
WIRE = 64
"""Prefix of the network that the machines of a region are on."""
_DOMAIN = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
_DOCUMENTATION = 0x2001_0DB8 << 96


Driver = Literal["simulated", "libvirt"]


class RegionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one region, in the file as ``[regions.eu-west]``."""

    driver: Driver | None = None
    ipv6: str | None = None
    """Prefix of at most 64 bits for the IPv6 addresses and ranges of the region."""


def complaint(host_domain: str, regions: Mapping[str, RegionSettings]) -> str | None:
    """Return what is wrong with these settings, or None."""
    if not _DOMAIN.fullmatch(host_domain):
        return f"host_domain is the domain of host names, such as hosts.example.org, and {host_domain!r} is none"
    known: dict[str, ipaddress.IPv6Network] = {}
    for region, own in regions.items():
        text = own.ipv6
        if text is None:
            continue
        try:
            network = ipaddress.IPv6Network(text)
        except ValueError:
            return f"ipv6 of region {region} is a network like 2a01:4f8:1::/48, and {text!r} is none"
        if network.prefixlen > WIRE:
            return f"ipv6 of region {region} needs a prefix of at most {WIRE} bits, and {text} is longer"
        for other, taken in known.items():
            if taken.overlaps(network):
                return f"ipv6 of region {region} overlaps with that of {other}"
        known[region] = network
    return None


@cache
def wire(prefix: str | None, region: str) -> int:
    """The upper 64 bits of the addresses that machines of a region make for themselves."""
    if prefix is not None:
        return int(ipaddress.IPv6Network(prefix).network_address) >> 64
    return _DOCUMENTATION >> 64 | zlib.crc32(region.encode()) % 0xFFFF + 1
