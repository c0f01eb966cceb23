"""Nodes of a load balancer as they are sent and shown."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import UNSET, Body, Id, Optional, View

MOST_NODES = 100
"""Maximum number of nodes of a config."""
NO_ADDRESS = "Must be an IPv4 address and a port, such as 192.168.128.7:80"
BEGINNING = "192.168."
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"


def address_complaint(value: str) -> str | None:
    """Why this is no private address with a port, if it is none."""
    if not value.startswith(BEGINNING):
        return "Must begin with 192.168"
    host, _, port = value.partition(":")
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return NO_ADDRESS
    written = port.isascii() and port.isdigit() and len(port) <= 5 and not port.startswith("0")
    return None if written and int(port) <= 65535 else NO_ADDRESS


_LABEL = re.compile("[a-zA-Z0-9._-]*")


def label_complaint(value: str) -> str | None:
    return None if _LABEL.fullmatch(value) else "Must only use ASCII letters, numbers, dashes, underscores and periods"


def parts(address: str) -> tuple[str, int]:
    """Host and port of an address that was found to be right."""
    host, _, port = address.partition(":")
    return host, int(port)


Address = Annotated[
    str,
    Meta(
        max_length=64,
        description="Private address of an instance in the region of the load balancer, and a port.",
        examples=["192.168.128.7:80"],
        extra={"check": address_complaint},
        extra_json_schema={"pattern": f"^192[.]168([.]{_OCTET}){{2}}:[1-9][0-9]{{0,4}}$"},
    ),
]
NodeLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=32,
        extra={"check": label_complaint},
        extra_json_schema={"pattern": "^[a-zA-Z0-9._-]*$"},
        description="Name of the node.",
        examples=["web-1"],
    ),
]
Weight = Annotated[int, Meta(ge=1, le=255, description="Its share of the traffic, beside the others.")]
Mode = Annotated[
    Literal["accept", "reject", "drain", "backup"],
    Meta(description="Takes traffic, none, only that of clients it has, or only when all others are down."),
]
NodeStatus = Annotated[
    Literal["Unknown", "UP", "DOWN"], Meta(description="What the checks of its port have found; Unknown without them.")
]


class NodeBalancerNodeView(View):
    """A private address that a load balancer sends traffic to."""

    address: Address
    config_id: Id
    id: Id
    label: NodeLabel
    mode: Mode
    nodebalancer_id: Id
    status: NodeStatus
    weight: Weight


class NodeBalancerNodeBody(Body):
    address: Address
    label: NodeLabel
    weight: Weight = 50
    mode: Mode = "accept"


class NodeBalancerNodeUpdate(Body):
    address: Optional[Address] = UNSET
    label: Optional[NodeLabel] = UNSET
    weight: Optional[Weight] = UNSET
    mode: Optional[Mode] = UNSET
