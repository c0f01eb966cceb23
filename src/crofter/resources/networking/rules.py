"""Ownership and display of addresses, and assignment of ranges."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from msgspec import Struct

from crofter.context import Context
from crofter.errors import Busy, Invalid, NotFound, Reason
from crofter.resources.instances import states
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import ranges, shares
from crofter.resources.instances.ips import rules as instance_ips
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.networks import Networks
from crofter.resources.instances.ips.ranges import Range
from crofter.resources.instances.ips.shapes import IpUpdate, IpView
from crofter.resources.instances.move.operations import MIGRATE_REGION
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.store import Instance
from crofter.resources.networking import store
from crofter.resources.networking.shapes import AddressAllocate, NewRange, RangeCreate, RoutedRange, VlanView
from crofter.resources.networking.store import SLAAC, Listed, Vlan

NO_ADDRESS = "IP Address not found."


class HeldAddress(Struct):
    """An address with its instance."""

    instance: Instance
    address: str

    @property
    def compute_id(self) -> int:
        return self.instance.id


def held(ctx: Context, address: str) -> HeldAddress:
    try:
        wanted = ipaddress.ip_address(address)
    except ValueError:
        raise NotFound from None
    if isinstance(wanted, ipaddress.IPv4Address):
        row = ips.held(ctx, str(wanted))
        if row is None:
            raise NotFound
        return HeldAddress(instances.one(ctx, row.instance_id), row.address)
    owner = _derives(ctx, wanted)
    if owner is None:
        raise NotFound
    return HeldAddress(owner, str(wanted))


def _derives(ctx: Context, wanted: ipaddress.IPv6Address) -> Instance | None:
    """The instance of the account that derives this address for itself."""
    owners = instances.these(ctx, [ips.instance_of(wanted) or 0])
    own = [str(ipaddress.IPv6Address(ips.slaac(ctx, owner.region, owner.id))) for owner in owners]
    own += [ips.link_local(owner.id) for owner in owners]
    return owners[0] if str(wanted) in own else None


def views(ctx: Context, rows: Sequence[Listed]) -> list[IpView]:
    known = Networks(ctx)
    return [_view(ctx, row, known) for row in rows]


def _view(ctx: Context, row: Listed, known: Networks) -> IpView:
    if row.address is not None:
        shown = ips.Address(row.address, 0, row.compute_id, row.region, True, row.place, row.rdns)
        return instance_ips.ipv4_view(ctx, shown, known)
    if row.place == SLAAC:
        return instance_ips.slaac_view(ctx, row.compute_id, row.region, row.rdns)
    return instance_ips.link_local_view(row.compute_id, row.region)


def allocate(ctx: Context, body: AddressAllocate) -> IpView:
    return instance_ips.allocate(ctx, usable(ctx, body.compute_id, "compute_id"), body)


def rename(ctx: Context, held: HeldAddress, body: IpUpdate) -> IpView:
    return instance_ips.rename(ctx, held.instance, held.address, body)


def usable(ctx: Context, compute_id: int, field: str) -> Instance:
    """An instance that a body names, and that the caller may change."""
    ctx.runtime.kinds.require(ctx, instances.KIND, [compute_id], "read_write", field=field)
    return instances.one(ctx, compute_id)


def must_stay(ctx: Context, touched: Sequence[Instance]) -> None:
    """Refuse changes to instances that are migrating: they get other addresses at their destination."""
    for instance in touched:
        instance_ips.must_stay(instance)
        if MIGRATE_REGION.operation.kind in states.under_way(ctx, instance.id):
            raise Busy


# ---- ranges ---------------------------------------------------------------------------------------------------------


def create_range(ctx: Context, body: RangeCreate) -> NewRange:
    instance = _target(ctx, body)
    field = "compute_id" if body.compute_id is not None else "route_target"
    reasons = []
    if ranges.of(ctx, instance.id) is not None:
        reasons.append(Reason("This Compute already has an IPv6 range.", field))
    elif ranges.in_region(ctx, instance.region) is not None:
        reasons.append(Reason("Only one IPv6 range is allowed in each region.", field))
    refuse(body, reasons)
    must_stay(ctx, [instance])
    made = ranges.insert(ctx, instance.id, instance.region, body.prefix_length)
    instance_ips.tell(ctx, instance, "compute_addip", made.with_prefix)
    instance_ips.rewire_all(ctx, [instance.id])
    return NewRange(made.with_prefix, ips.slaac(ctx, instance.region, instance.id))


def _target(ctx: Context, body: RangeCreate) -> Instance:
    """The instance, by its id or by its SLAAC address."""
    if body.compute_id is not None and body.route_target is not None:
        raise Invalid("Only one of compute_id and route_target may be given", field="route_target")
    if body.compute_id is not None:
        return usable(ctx, body.compute_id, "compute_id")
    if body.route_target is None:
        raise Invalid("Either compute_id or route_target is required", field="compute_id")
    try:
        wanted = ipaddress.IPv6Address(body.route_target.removesuffix("/128"))
    except ValueError:
        raise Invalid("Must be an IPv6 address", field="route_target") from None
    owner = None if wanted.is_link_local else _derives(ctx, wanted)
    if owner is None or not _sees(ctx, owner.id):
        raise Invalid("Must be the SLAAC address of a Compute", field="route_target")
    return usable(ctx, owner.id, "route_target")


def _sees(ctx: Context, compute_id: int) -> bool:
    return ctx.runtime.kinds.permits(ctx, instances.KIND, compute_id, "read_only")


def view_range(ctx: Context, row: Range) -> RoutedRange:
    users = shares.users(ctx, row.text)
    seen = [number for number in (row.instance_id, *users) if _sees(ctx, number)]
    return RoutedRange(seen, bool(users), row.prefix, row.text, row.region)


def delete_range(ctx: Context, row: Range) -> None:
    instance = instances.one(ctx, row.instance_id)
    users = shares.users(ctx, row.text)
    ranges.delete(ctx, row)
    instance_ips.tell(ctx, instance, "compute_deleteip", row.with_prefix)
    instance_ips.rewire_all(ctx, [instance.id, *users])


def vlan_views(ctx: Context, rows: list[Vlan]) -> list[VlanView]:
    computes = store.computes(ctx, rows)
    return [VlanView(computes[row.id], row.created, row.label, row.region) for row in rows]
