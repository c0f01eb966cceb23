"""Letting an instance use addresses that others have."""

from __future__ import annotations

import ipaddress

from crofter.context import Context
from crofter.errors import Reason
from crofter.events import record
from crofter.kinds import inaccessible
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import ranges, shares
from crofter.resources.instances.ips import rules as instance_ips
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.ranges import Range
from crofter.resources.instances.ips.store import Address
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.store import Instance
from crofter.resources.networking import rules
from crofter.resources.networking.shapes import Share


def share(ctx: Context, body: Share) -> None:
    """From now on the instance may use these addresses of others, and no more than these."""
    instance = rules.usable(ctx, body.compute_id, "compute_id")
    wanted: dict[str, Address | Range] = {}
    reasons: list[Reason] = []
    for position, text in enumerate(body.ips):
        held = _find(ctx, text)
        reason = _against(instance, held)
        if reason is not None:
            reasons.append(Reason(reason, f"ips[{position}]"))
        elif held is not None and held.instance_id != instance.id:
            wanted[held.text if isinstance(held, Range) else held.address] = held
            _must_be_usable(ctx, held, f"ips[{position}]")
    refuse(body, reasons)
    had = shares.texts(ctx, instance.id)
    added = {text: wanted[text] for text in wanted if text not in had}
    owners = instances.these(ctx, sorted({address.instance_id for address in added.values()}))
    rules.must_stay(ctx, [instance, *owners])
    for text in had:
        if text not in wanted:
            shares.unshare(ctx, instance.id, text)
            _tell(ctx, instance, ranges.find(ctx, text) or text)
    for text, address in added.items():
        shares.share(ctx, instance.id, text)
        _tell(ctx, instance, address)
    if set(had) != set(wanted):
        instance_ips.rewire_all(ctx, [instance.id])


def _tell(ctx: Context, instance: Instance, address: Address | Range | str) -> None:
    text = (
        address.with_prefix
        if isinstance(address, Range)
        else address.address
        if isinstance(address, Address)
        else address
    )
    record(ctx, "ipaddress_update", instance_ips.entity(text), instances.entity(instance))


def _find(ctx: Context, text: str) -> Address | Range | None:
    """A public address or a range of the account, if the caller may see the instance that has it."""
    try:
        wanted = ipaddress.ip_address(text)
    except ValueError:
        return None
    v4 = isinstance(wanted, ipaddress.IPv4Address)
    held = ips.held(ctx, str(wanted)) if v4 else ranges.find(ctx, str(wanted))
    visible = held is not None and ctx.runtime.kinds.permits(ctx, instances.KIND, held.instance_id, "read_only")
    return held if visible else None


def _against(instance: Instance, held: Address | Range | None) -> str | None:
    if held is None:
        return rules.NO_ADDRESS
    if isinstance(held, Address) and not held.public:
        return "Only public addresses can be shared."
    if held.instance_id == instance.id:  # a range that is routed there is shared with it already
        return None if isinstance(held, Range) else "The Compute has this address already."
    if held.region != instance.region:
        return "The address is not in the region of the Compute."
    return None


def _must_be_usable(ctx: Context, address: Address | Range, field: str) -> None:
    """Refuse an address whose lending instance the caller may not change."""
    if not ctx.runtime.kinds.permits(ctx, instances.KIND, address.instance_id, "read_write"):
        raise inaccessible(instances.KIND, field)
