"""Load balancers as callers see them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from crofter.shapes import Filtered, Id, Moment, View


class TransferView(View):
    """MB in this month; null while nothing is known."""

    in_: float | None = field(name="in")
    out: float | None
    total: float | None


class NodeBalancerView(View):
    """One address in front of several instances of its region."""

    client_conn_throttle: Annotated[int, Meta(ge=0, le=20, description="Connections per second and client; 0: any.")]
    created: Moment
    hostname: Annotated[str, Meta(examples=["100-64-0-9.ip.computeusercontent.com"])]
    id: Id
    ipv4: Annotated[Filtered[str], Meta(examples=["100.64.0.9"])]
    ipv6: str | None
    label: Annotated[Filtered[str], Meta(min_length=3, max_length=32, examples=["balancer123"])]
    region: Annotated[Filtered[str], Meta(examples=["us-east"])]
    tags: Filtered[list[str]]
    transfer: TransferView
    updated: Moment
