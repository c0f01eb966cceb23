"""Rules of the addresses of an instance."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Set
from typing import Any

from crofter.context import Context
from crofter.drivers.hypervisor import Absent
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, step
from crofter.errors import Busy, Invalid, Reason
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.instances import costs, hypervisor_client, store
from crofter.resources.instances.ips import ranges, shares
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.networks import Networks
from crofter.resources.instances.ips.ranges import Range
from crofter.resources.instances.ips.shapes import (
    IpAllocate,
    IpUpdate,
    Ipv4View,
    Ipv6View,
    IpView,
    NetworkingView,
    RangeView,
)
from crofter.resources.instances.ips.store import Address
from crofter.resources.instances.looking import Args
from crofter.resources.instances.store import Instance
from crofter.shapes import UNSET

JUSTIFY = (
    "Additional IPv4 addresses require technical justification.  "
    "Please open a Support Ticket describing your requirement"
)
RETRY, MOST_TRIES = 60_000, 6
"""Milliseconds until a network that could not be applied is tried again at first, and how often it is."""
_NAME = re.compile(r"(?=.{1,253}\.?$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}\.?")


@step()
def rewire(work: StepContext) -> Sleep | None:
    """Let the hypervisor know which addresses the machine may use now, and the filter in front of it."""
    instance = hypervisor_client.current_or_none(work)
    if instance is None or instance.host is None or instance.status == "deleting":
        return None
    try:
        return hypervisor_client.carry_out(work, [hypervisor_client.apply_network(work, instance)])
    except Failed as error:
        if not isinstance(error.__cause__, Absent):
            raise
    ref = hypervisor_client.domain_ref(instance)
    if hypervisor_client.hypervisor(work.runtime).observe(ref).power == "absent":
        return None  # the definition of the machine applies the addresses
    return hypervisor_client.ask_later(work)  # moved to another host, which is about to be stored


def rewire_again(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry at growing intervals: packet filters must not stay outdated."""
    times = int(work.vars.get("times", 0))
    if times < MOST_TRIES:
        enqueue(ctx, REWIRE, work.args, due=ctx.now + RETRY * 4**times, vars={"times": times + 1})


# Without a key: addresses change next to other work, and never make an instance busy.
REWIRE = Operation(kind="compute_rewire", args=Args, steps=(rewire,), failed=rewire_again, keep=False)


def apply_later(ctx: Context, instance_id: int) -> None:
    """Something about the network of an instance changes in this transaction: its machine will hear of it."""
    if store.begin_network_generation(ctx, instance_id):
        enqueue(ctx, REWIRE, Args(instance_id))


def networking(ctx: Context, instance: Instance) -> NetworkingView:
    known = Networks(ctx)
    shown = [ipv4_view(ctx, row, known) for row in ips.of(ctx, instance.id)]
    own = ranges.of(ctx, instance.id)
    ipv4 = Ipv4View(
        private=[address for address in shown if not address.public],
        public=[address for address in shown if address.public],
        reserved=[],
        shared=[ipv4_view(ctx, row, known) for row in shares.of(ctx, instance.id)],
    )
    routed = None if own is None else range_view(ctx, own)
    return NetworkingView(ipv4, Ipv6View(routed, _link_local(instance), _slaac(ctx, instance)))


def range_view(ctx: Context, row: Range) -> RangeView:
    return RangeView(row.prefix, row.text, row.region, ips.slaac(ctx, row.region, row.instance_id))


def ipv4_view(ctx: Context, row: Address, known: Networks | None = None) -> IpView:
    prefix, gateway = (known or Networks(ctx)).around(row.address, row.region, public=row.public)
    network = ipaddress.IPv4Network(f"{row.address}/{prefix}", strict=False)
    return IpView(
        address=row.address,
        compute_id=row.instance_id,
        gateway=gateway,
        prefix=prefix,
        public=row.public,
        rdns=(row.rdns or default_name(ctx, row.address)) if row.public else None,
        region=row.region,
        subnet_mask=str(network.netmask),
        type="ipv4",
    )


def default_name(ctx: Context, address: str) -> str:
    return f"{address.replace('.', '-')}.{ctx.runtime.settings.host_domain}"


def _slaac(ctx: Context, instance: Instance) -> IpView:
    return slaac_view(ctx, instance.id, instance.region, instance.ipv6_rdns)


def _link_local(instance: Instance) -> IpView:
    return link_local_view(instance.id, instance.region)


def slaac_view(ctx: Context, instance_id: int, region: str, rdns: str | None) -> IpView:
    return _ipv6(ips.slaac(ctx, region, instance_id), instance_id, region, rdns, public=True)


def link_local_view(instance_id: int, region: str) -> IpView:
    return _ipv6(ips.link_local(instance_id), instance_id, region, None, public=False)


def _ipv6(address: str, instance_id: int, region: str, rdns: str | None, *, public: bool) -> IpView:
    return IpView(
        address=address,
        compute_id=instance_id,
        gateway="fe80::1",
        prefix=64,
        public=public,
        rdns=rdns,
        region=region,
        subnet_mask="ffff:ffff:ffff:ffff::",
        type="ipv6",
    )


def view(ctx: Context, instance: Instance, wanted: str) -> IpView:
    """Return an address of the instance, of either family."""
    for address in (_slaac(ctx, instance), _link_local(instance)):
        if _same(address.address, wanted):
            return address
    return ipv4_view(ctx, ips.one(ctx, instance.id, wanted))


def _same(known: str, wanted: str) -> bool:
    try:
        return ipaddress.ip_address(known) == ipaddress.ip_address(wanted)
    except ValueError:
        return False


def complaints(_ctx: Context, sent: dict[str, Any], _wrong: Set[str]) -> Iterator[Reason]:
    """Clients know this by its text, which names no field."""
    if sent.get("type", "ipv4") != "ipv4":
        yield Reason("Only addresses of type ipv4 are currently supported.")


def allocate(ctx: Context, instance: Instance, body: IpAllocate) -> IpView:
    must_stay(instance)
    held = ips.of(ctx, instance.id)
    if body.public and sum(row.public for row in held) >= accounts.public_ips(ctx):
        raise Invalid(JUSTIFY)
    if not body.public and any(not row.public for row in held):
        raise Invalid("This Compute already has a private IPv4 address.", field="public")
    row = ips.allocate(ctx, instance.id, instance.region, public=body.public)
    tell(ctx, instance, "compute_addip", row.address)
    recount(ctx, instance)
    return ipv4_view(ctx, row)


def must_stay(instance: Instance) -> None:
    if instance.status == "deleting":
        raise Busy


def delete(ctx: Context, instance: Instance, wanted: str) -> None:
    must_stay(instance)
    shown = view(ctx, instance, wanted)
    if shown.type != "ipv4" or not shown.public:
        raise Invalid("Only public IPv4 addresses can be deleted.")
    held = ips.of(ctx, instance.id)
    if sum(row.public for row in held) == 1:
        raise Invalid("The last public IPv4 address of a Compute cannot be deleted.")
    users = shares.users(ctx, shown.address)
    ips.release(ctx, next(row for row in held if row.address == shown.address))
    tell(ctx, instance, "compute_deleteip", shown.address)
    recount(ctx, instance)
    rewire_all(ctx, users)


def entity(address: str) -> Entity:
    """An address as events speak of it, or a range with its prefix."""
    name, _, prefix = address.partition("/")
    url = f"/v4/networking/ipv6/ranges/{name}" if prefix else f"/v4/networking/ips/{name}"
    return Entity("ipaddress", address, address, url)


def tell(ctx: Context, instance: Instance, action: str, address: str) -> None:
    record(ctx, action, store.entity(instance), entity(address))


def recount(ctx: Context, instance: Instance) -> None:
    """The addresses of an instance have changed: they are paid for, and its host hears of them."""
    costs.count_addresses(ctx, instance, sum(row.public for row in ips.of(ctx, instance.id)))
    rewire_all(ctx, [instance.id])


def rewire_all(ctx: Context, instance_ids: Iterable[int]) -> None:
    """Let the hosts of these instances hear which addresses they may use now."""
    for instance_id in sorted(instance_ids):
        apply_later(ctx, instance_id)


def rename(ctx: Context, instance: Instance, wanted: str, body: IpUpdate) -> IpView:
    """Set the reverse name of an address, or with null give it back its own."""
    shown = view(ctx, instance, wanted)
    if body.rdns is UNSET or (body.rdns is None and not shown.public):
        return shown
    if body.rdns is not None:
        _check_name(ctx, shown, body.rdns)
    if shown.type == "ipv4":
        ctx.db.update(ips.address, {"address": shown.address, "region": shown.region}, rdns=body.rdns)
    else:
        ctx.db.update(store.instance, {"id": instance.id}, ipv6_rdns=body.rdns)
    record(ctx, "ipaddress_update", entity(shown.address))
    return view(ctx, store.one(ctx, instance.id), wanted)


def _check_name(ctx: Context, shown: IpView, name: str) -> None:
    if not shown.public:
        raise Invalid("Only public addresses have a reverse name.", field="rdns")
    if not _NAME.fullmatch(name):
        raise Invalid("Domain is not valid.", field="rdns")
    if not ctx.runtime.settings.sandbox:
        # The name must point back; that is looked up in the account's own zones, which are still to come.
        raise Invalid("We were unable to perform a lookup for this name: no forward record was found.", field="rdns")
