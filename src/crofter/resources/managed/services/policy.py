"""Addresses that may be monitored, and the networks of the probes."""

from __future__ import annotations

from crofter.config import Settings
from crofter.context import Context
from crofter.drivers.probes import Refused, Target, judge, parse, private
from crofter.drivers.probes.addresses import LOOPBACK, Network, networks
from crofter.errors import Invalid, Reason
from crofter.resources.instances.ips.blocks import PUBLIC
from crofter.resources.regions import store as regions

EXAMPLES = networks("192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32")
"""Documentation networks. No host exists there, but sandbox users write them."""


def target(ctx: Context, service_type: str, address: str, region: str | None) -> Target:
    """The address taken apart, if it may be monitored; or everything that is wrong with it."""
    sandbox = ctx.runtime.settings.sandbox
    reasons: list[Reason] = []
    parsed: Target | None = None
    inside = False
    try:
        parsed = parse(service_type, address, local=sandbox)  # type: ignore[arg-type]
        if parsed.literal is not None:
            inside = private(parsed.literal)
            if not inside:
                judge(parsed.literal, (*LOOPBACK, *EXAMPLES, PUBLIC) if sandbox else ())
    except Refused as error:
        reasons.append(Reason(f"address is not valid: {error}", "address"))
    if inside and region is None:
        reasons.append(Reason("region is required", "region"))
    elif region is not None and regions.find(ctx, region) is None:
        reasons.append(Reason("region is not valid", "region"))
    elif region is not None and parsed is not None and not inside and not reasons:
        reasons.append(Reason("region may only be set for a private address", "region"))
    if reasons or parsed is None:
        raise Invalid.all(reasons)
    return parsed


def allowed(settings: Settings, region: str | None) -> tuple[str, ...]:
    """The networks that are not public and may be looked at all the same."""
    own: tuple[Network, ...] = LOOPBACK if settings.sandbox else ()
    return tuple(str(network) for network in (*own, *(_of_region(settings, region) if region else ())))


def _of_region(settings: Settings, region: str) -> tuple[Network, ...]:
    pairs = (word.partition("=") for word in settings.probe_networks.split())
    return networks(network for name, _, network in pairs if name == region)
