"""Request and response bodies of addresses."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import UNSET, Body, Filtered, HostName, Id, Optional, View


class IpView(View):
    """An IP address."""

    address: Annotated[str, Meta(description="The address.")]
    compute_id: Filtered[Id]
    gateway: str | None
    prefix: int
    public: bool
    rdns: HostName[str | None]
    region: Filtered[str]
    subnet_mask: str
    type: Literal["ipv4", "ipv6", "ipv6/pool", "ipv6/range"]


class Ipv4View(View):
    private: list[IpView]
    public: list[IpView]
    reserved: list[IpView]
    shared: list[IpView]


class RangeView(View):
    """An IPv6 range that is routed to the instance."""

    prefix: Annotated[int, Meta(description="How many bits of it are fixed.")]
    range: Annotated[str, Meta(description="Its first address, without the prefix.")]
    region: Filtered[str]
    route_target: Annotated[str, Meta(description="The SLAAC address of the instance.")] | None


class Ipv6View(View, rename={"global_": "global"}):
    global_: RangeView | None
    link_local: IpView | None
    slaac: IpView | None


class NetworkingView(View):
    """All addresses of an instance."""

    ipv4: Ipv4View
    ipv6: Ipv6View


class IpAllocate(Body):
    public: bool
    type: Annotated[str, Meta(description="Only ipv4.", extra_json_schema={"enum": ["ipv4"]})]


class IpUpdate(Body):
    rdns: Optional[Annotated[HostName[str], Meta(max_length=255)] | None] = UNSET
