"""Request and response bodies of load balancers."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, field

from crofter.resources.nodebalancers.configs.shapes import NodeBalancerConfigRebuild
from crofter.resources.tags.shapes import TagLabel
from crofter.shapes import UNSET, Body, Filtered, HostName, Id, Moment, Optional, View

MOST_CONFIGS = 32
"""Maximum number of ports of a load balancer."""

_LABEL = re.compile("[a-zA-Z0-9_-]*")


def label_complaint(value: str) -> str | None:
    return None if _LABEL.fullmatch(value) else "Must only use ASCII letters, numbers, dashes and underscores"


NodeBalancerLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=32,
        extra={"check": label_complaint},
        extra_json_schema={"pattern": "^[a-zA-Z0-9_-]*$"},
        description="Name of the load balancer, unique within the account.",
        examples=["balancer123"],
    ),
]
Throttle = Annotated[
    int, Meta(ge=0, le=20, description="New connections per second that one client may open; 0: any number.")
]
Tags = Annotated[list[TagLabel], Meta(max_length=500, description="The tags that it carries.")]
Points = Annotated[list[float], Meta(description="Points of five minutes, oldest first.")]


class NodeBalancerTransferView(View):
    """Traffic of this month in MB; null if unknown."""

    in_: float | None = field(name="in")
    out: float | None
    total: float | None


class NodeBalancerView(View):
    """An address in front of several instances of its region."""

    client_conn_throttle: Throttle
    created: Filtered[Moment]
    hostname: Annotated[HostName[str], Meta(examples=["100-64-0-9.ip.computeusercontent.com"])]
    id: Id
    ipv4: Annotated[Filtered[str], Meta(examples=["100.64.0.9"])]
    ipv6: str | None
    label: Filtered[NodeBalancerLabel]
    region: Annotated[Filtered[str], Meta(examples=["us-east"])]
    tags: Filtered[list[str]]
    transfer: NodeBalancerTransferView
    updated: Filtered[Moment]


class NodeBalancerCreate(Body):
    region: Annotated[str, Meta(description="Where it is; its nodes are there too.", examples=["us-east"])]
    label: NodeBalancerLabel | None = None
    client_conn_throttle: Throttle = 0
    configs: Annotated[
        list[NodeBalancerConfigRebuild],
        Meta(max_length=MOST_CONFIGS, description="Its ports, with the nodes behind each."),
    ] = []
    tags: Tags = []


class NodeBalancerUpdate(Body):
    label: Optional[NodeBalancerLabel] = UNSET
    client_conn_throttle: Optional[Throttle] = UNSET
    tags: Optional[Tags] = UNSET


class NodeBalancerTrafficView(View):
    """Bits per second."""

    in_: Points = field(name="in")
    out: Points


class NodeBalancerStatsData(View):
    connections: Points
    traffic: NodeBalancerTrafficView


class NodeBalancerStats(View):
    """The last 24 hours of a load balancer."""

    data: NodeBalancerStatsData
    title: str
