"""Addresses, ranges and private networks of an account as they are sent and shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.instances.ips.shapes import IpAllocate
from crofter.shapes import Body, Filtered, Id, Moment, View

MOST = 100
"""Maximum number of addresses in a request."""
AddressText = Annotated[str, Meta(max_length=64, description="An address.", examples=["100.64.0.2"])]
AssignedText = Annotated[
    str,
    Meta(
        max_length=64,
        description="An IPv4 address, or an IPv6 range with its prefix.",
        examples=["100.64.0.2", "2001:db8:1:100::/64"],
    ),
]
ComputeId = Annotated[Id, Meta(description="The instance.")]
RegionId = Annotated[str, Meta(max_length=64, description="Where the addresses and the instances are.")]


class AddressAllocate(IpAllocate):
    compute_id: ComputeId


class Assignment(Body):
    """An address, and the instance that is to have it."""

    address: AssignedText
    compute_id: ComputeId


class Assign(Body):
    region: RegionId
    assignments: Annotated[
        list[Assignment], Meta(min_length=1, max_length=MOST, description="All are done, or none is.")
    ]


class Share(Body):
    compute_id: ComputeId
    ips: Annotated[
        list[AddressText],
        Meta(max_length=MOST, description="All that the instance may use of others, from now on. None: `[]`."),
    ]


class RangeCreate(Body):
    prefix_length: Annotated[Literal[56, 64], Meta(description="How many bits of the range are fixed.")]
    compute_id: ComputeId | None = None
    route_target: (
        Annotated[str, Meta(max_length=64, description="The SLAAC address of an instance, instead of its id.")] | None
    ) = None


class NewRange(View):
    """A range that was just given out."""

    range: Annotated[str, Meta(description="With its prefix.", examples=["2001:db8:1:100::/64"])]
    route_target: Annotated[str, Meta(description="The SLAAC address of the instance that it is routed to.")]


class RoutedRange(View):
    """An IPv6 range, with the instances that may use it."""

    computes: Annotated[list[int], Meta(description="The instance that it is routed to, and those that share it.")]
    is_bgp: Annotated[bool, Meta(description="Whether it is shared.")]
    prefix: Annotated[int, Meta(description="How many bits of it are fixed.")]
    range: Annotated[str, Meta(description="Its first address, without the prefix.")]
    region: str


class VlanView(View):
    """A private network between instances of a region."""

    computes: Annotated[list[int], Meta(description="The instances of which a profile uses it.")]
    created: Filtered[Moment]
    label: Filtered[str]
    region: Filtered[str]
