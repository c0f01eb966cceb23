"""Request and response bodies of firewalls."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from crofter.resources.firewalls import checks
from crofter.resources.tags.shapes import TagLabel
from crofter.shapes import Address, Body, Filtered, Id, Moment, Optional, View

MOST_RULES = 25
"""Rules of a firewall, both directions together."""
MOST_ADDRESSES = 255
"""Networks of a rule, both families together."""

FirewallLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=32,
        description="Name of the firewall, unique on the account.",
        examples=["web"],
        extra={"check": checks.about_label},
        extra_json_schema={"pattern": "^[A-Za-z][A-Za-z0-9._-]*$"},
    ),
]
Policy = Annotated[Literal["ACCEPT", "DROP"], Meta(description="What happens to traffic that no rule matches.")]
Action = Annotated[Literal["ACCEPT", "DROP"], Meta(description="What happens to traffic that the rule matches.")]
Protocol = Annotated[Literal["TCP", "UDP", "ICMP"], Meta(description="The protocol of the traffic.")]
Ports = Annotated[
    str,
    Meta(
        max_length=255,
        description="Up to 15 ports, comma separated; a range counts as two. Not for ICMP; all if left out.",
        examples=["22, 8000-9000"],
        extra={"check": checks.about_ports},
    ),
]
Ipv4Networks = Annotated[
    list[Annotated[str, Meta(max_length=64, examples=["192.0.2.0/24"], extra={"check": checks.about_ipv4})]],
    Meta(max_length=MOST_ADDRESSES, description="IPv4 networks, as `address/prefix`."),
]
Ipv6Networks = Annotated[
    list[Annotated[str, Meta(max_length=64, examples=["2001:db8::/32"], extra={"check": checks.about_ipv6})]],
    Meta(max_length=MOST_ADDRESSES, description="IPv6 networks, as `address/prefix`."),
]
RuleLabel = Annotated[str, Meta(min_length=3, max_length=32, description="Name of the rule.")]
Description = Annotated[str, Meta(min_length=1, max_length=100, description="What the rule is for.")]
Tags = Annotated[list[TagLabel], Meta(max_length=500, description="Tags of the firewall.")]


class RuleAddresses(View):
    """Where the traffic comes from or goes to. Both families together have at most 255 networks."""

    ipv4: Ipv4Networks | UnsetType = UNSET
    ipv6: Ipv6Networks | UnsetType = UNSET


class RuleView(View):
    """A rule that accepts or drops matching traffic."""

    protocol: Protocol
    addresses: RuleAddresses
    action: Action
    ports: Ports | UnsetType = UNSET
    label: RuleLabel | UnsetType = UNSET
    description: Description | UnsetType = UNSET


class RulesView(View):
    """Rules for both directions: the first match decides, otherwise the policy."""

    inbound: Annotated[list[RuleView], Meta(description="Rules for traffic to the instances, in order.")]
    inbound_policy: Policy
    outbound: Annotated[list[RuleView], Meta(description="Rules for traffic from the instances, in order.")]
    outbound_policy: Policy


class FirewallView(View):
    """Traffic filter of the protected instances."""

    created: Filtered[Moment]
    id: Filtered[Id]
    label: Filtered[FirewallLabel]
    rules: RulesView
    status: Annotated[Literal["enabled", "disabled", "deleted"], Meta(description="Whether its rules are in force.")]
    tags: Filtered[list[str]]
    updated: Filtered[Moment]


class DeviceEntity(View):
    """The protected instance."""

    id: Id
    label: Annotated[str | None, Meta(description="Name of the instance.")]
    type: Annotated[Literal["compute"], Meta(description="The kind of object.")]
    url: Annotated[Address[str], Meta(description="Where the object is viewed.")]


class FirewallDeviceView(View):
    """An instance that a firewall guards."""

    created: Filtered[Moment]
    entity: DeviceEntity
    id: Filtered[Id]
    updated: Filtered[Moment]


class AddressesBody(Body):
    """Where the traffic comes from or goes to."""

    ipv4: Optional[Ipv4Networks] = UNSET
    ipv6: Optional[Ipv6Networks] = UNSET


class RuleBody(Body):
    protocol: Protocol
    addresses: AddressesBody
    action: Action
    ports: Optional[Ports] = UNSET
    label: Optional[RuleLabel] = UNSET
    description: Optional[Description] = UNSET


Inbound = Annotated[list[RuleBody], Meta(max_length=MOST_RULES, description="Rules for traffic to the instances.")]
Outbound = Annotated[list[RuleBody], Meta(max_length=MOST_RULES, description="Rules for traffic from the instances.")]


class RulesBody(Body):
    inbound_policy: Policy
    outbound_policy: Policy
    inbound: Inbound = []
    outbound: Outbound = []


class RulesUpdate(Body):
    inbound: Optional[Inbound] = UNSET
    inbound_policy: Optional[Policy] = UNSET
    outbound: Optional[Outbound] = UNSET
    outbound_policy: Optional[Policy] = UNSET


class FirewallDevices(Body, forbid_unknown_fields=True):
    computes: Annotated[list[Id], Meta(max_length=500, description="Instances that the firewall guards.")] = []


class FirewallCreate(Body):
    label: FirewallLabel
    rules: RulesBody
    tags: Tags = []
    devices: FirewallDevices | None = None


class FirewallUpdate(Body):
    label: Optional[FirewallLabel] = UNSET
    tags: Optional[Tags] = UNSET
    status: Optional[Annotated[Literal["enabled", "disabled"], Meta(description="Whether its rules are in force.")]] = (
        UNSET
    )


class FirewallDeviceCreate(Body):
    id: Id
    type: Annotated[Literal["compute"], Meta(description="The kind of object.")]
