"""Addresses, ranges and private networks of an account."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances.ips import ranges
from crofter.resources.instances.ips import rules as instance_ips
from crofter.resources.instances.ips.ranges import Range
from crofter.resources.instances.ips.shapes import IpUpdate, IpView, RangeView
from crofter.resources.networking import assigning, rules, sharing, store
from crofter.resources.networking.rules import HeldAddress
from crofter.resources.networking.shapes import (
    AddressAllocate,
    Assign,
    NewRange,
    RangeCreate,
    RoutedRange,
    Share,
    VlanView,
)
from crofter.shapes import Page

TheAddress = Annotated[HeldAddress, Lookup(rules.held, "address", of="compute_id")]
TheRange = Annotated[Range, Lookup(ranges.one, "range", of="compute_id")]
BOTH = "ips:read_write computes:read_write"
ASSIGNED = ("compute_addip", "compute_deleteip")


def _whose(ctx: Context) -> dict[str, Any]:
    """Return the account and user that restrict a list."""
    seen = {"user_id": ctx.actor.user_id} if ctx.actor.restricted else {}
    return {"account_id": ctx.account_id, **seen}


# ---- addresses ------------------------------------------------------------------------------------------------------


@endpoint("GET /v4/networking/ips", scope="ips:read_only", grant="any")
def list_ips(ctx: Context, listing: Listing) -> Page[IpView]:
    """List the public IPv4 addresses and the IPv6 addresses of all instances."""
    return listing.of(ctx, store.ADDRESSES[ctx.actor.restricted], partial(rules.views, ctx), **_whose(ctx))


@endpoint(
    "POST /v4/networking/ips",
    scope=BOTH,
    grant="any",
    events=("compute_addip",),
    also=instance_ips.complaints,
)
def allocate_ip(ctx: Context, body: AddressAllocate) -> IpView:
    """Give an instance another public or private IPv4 address."""
    return rules.allocate(ctx, body)


@endpoint("GET /v4/networking/ips/{address}", scope="ips:read_only", grant="compute:read_only")
def view_ip(ctx: Context, held: TheAddress) -> IpView:
    """View an address."""
    return instance_ips.view(ctx, held.instance, held.address)


@endpoint(
    "PUT /v4/networking/ips/{address}",
    scope="ips:read_write",
    grant="compute:read_write",
    events=("ipaddress_update",),
)
def update_ip(ctx: Context, held: TheAddress, body: IpUpdate) -> IpView:
    """Set or reset the reverse name of an address."""
    return rules.rename(ctx, held, body)


@endpoint("POST /v4/networking/ips/assign", scope=BOTH, grant="any", events=ASSIGNED)
def assign_ips(ctx: Context, body: Assign) -> None:
    """Move addresses and ranges between instances of a region: all of them, or none."""
    assigning.assign(ctx, body)


@endpoint("POST /v4/networking/ipv4/assign", scope=BOTH, grant="any", events=ASSIGNED)
def assign_ipv4s(ctx: Context, body: Assign) -> None:
    """Move addresses between instances of a region, under a former name."""
    assigning.assign(ctx, body)


@endpoint("POST /v4/networking/ips/share", scope=BOTH, grant="any", events=("ipaddress_update",))
def share_ips(ctx: Context, body: Share) -> None:
    """Say which addresses and ranges of others an instance may use."""
    sharing.share(ctx, body)


@endpoint("POST /v4/networking/ipv4/share", scope=BOTH, grant="any", events=("ipaddress_update",))
def share_ipv4s(ctx: Context, body: Share) -> None:
    """Say which addresses of others an instance may use, under a former name."""
    sharing.share(ctx, body)


# ---- ranges ---------------------------------------------------------------------------------------------------------


@endpoint("GET /v4/networking/ipv6/pools", scope="ips:read_only", grant="any")
def list_ipv6_pools(ctx: Context, listing: Listing) -> Page[RangeView]:
    """List the IPv6 pools of the account; none are given out any more."""
    return listing.of(ctx, store.POOLS[ctx.actor.restricted], partial(_range_views, ctx), **_whose(ctx))


@endpoint("GET /v4/networking/ipv6/ranges", scope="ips:read_only", grant="any")
def list_ipv6_ranges(ctx: Context, listing: Listing) -> Page[RangeView]:
    """List the IPv6 ranges of the account."""
    return listing.of(ctx, store.RANGES[ctx.actor.restricted], partial(_range_views, ctx), **_whose(ctx))


def _range_views(ctx: Context, rows: list[Range]) -> list[RangeView]:
    return [instance_ips.range_view(ctx, row) for row in rows]


@endpoint("POST /v4/networking/ipv6/ranges", scope=BOTH, grant="any", events=("compute_addip",))
def create_ipv6_range(ctx: Context, body: RangeCreate) -> NewRange:
    """Route an IPv6 range to an instance."""
    return rules.create_range(ctx, body)


@endpoint("GET /v4/networking/ipv6/ranges/{range}", scope="ips:read_only", grant="compute:read_only")
def view_ipv6_range(ctx: Context, row: TheRange) -> RoutedRange:
    """View one IPv6 range, and which instances may use it."""
    return rules.view_range(ctx, row)


@endpoint(
    "DELETE /v4/networking/ipv6/ranges/{range}",
    scope="ips:read_write",
    grant="compute:read_write",
    events=("compute_deleteip",),
)
def delete_ipv6_range(ctx: Context, row: TheRange) -> None:
    """Give an IPv6 range back."""
    rules.delete_range(ctx, row)


# ---- private networks -----------------------------------------------------------------------------------------------


@endpoint("GET /v4beta/networking/vlans", scope="computes:read_only", grant="any")
def list_vlans(ctx: Context, listing: Listing) -> Page[VlanView]:
    """List the private networks that profiles of instances use."""
    return listing.of(ctx, store.VLANS[ctx.actor.restricted], lambda rows: rules.vlan_views(ctx, rows), **_whose(ctx))
