"""Firewalls as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from crofter.shapes import Filtered, Id, Moment, View

Policy = Literal["ACCEPT", "DROP"]


class RuleAddresses(View):
    """Networks, as `address/prefix`."""

    ipv4: list[str] = []
    ipv6: list[str] = []


class RuleView(View):
    """Which traffic is let through, or is not."""

    protocol: Literal["TCP", "UDP", "ICMP"]
    addresses: RuleAddresses
    action: Policy
    ports: Annotated[str, Meta(description="Ports and ranges, comma separated.", examples=["22, 443"])] | UnsetType = (
        UNSET
    )
    label: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class RulesView(View):
    """What happens to traffic in both directions: the first rule that matches, else the policy."""

    inbound: list[RuleView]
    inbound_policy: Policy
    outbound: list[RuleView]
    outbound_policy: Policy


class FirewallView(View):
    """Which traffic reaches the instances that it guards, and which leaves them."""

    created: Filtered[Moment]
    id: Filtered[Id]
    label: Annotated[Filtered[str], Meta(min_length=3, max_length=32, examples=["web"])]
    rules: RulesView
    status: Literal["enabled", "disabled", "deleted"]
    tags: Filtered[list[str]]
    updated: Filtered[Moment]
