"""Addresses of an instance: list, allocate, view, name, delete."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.resources.instances import store
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.ips import rules
from crofter.resources.instances.ips.shapes import IpAllocate, IpUpdate, IpView, NetworkingView
from crofter.resources.instances.store import Instance


class InstanceAddress(Struct):
    """An address of an instance: both must be there."""

    instance: Instance
    address: str


def _instance_address(ctx: Context, compute_id: int, address: str) -> InstanceAddress:
    instance = store.one(ctx, compute_id)
    return InstanceAddress(instance, rules.view(ctx, instance, address).address)


TheAddress = Annotated[InstanceAddress, Lookup(_instance_address, "compute_id", "address")]


@endpoint("GET /v4/compute/instances/{compute_id}/ips", scope="computes:read_only", grant="compute:read_only")
def list_instance_ips(ctx: Context, instance: TheInstance) -> NetworkingView:
    """View all addresses of an instance."""
    return rules.networking(ctx, instance)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/ips",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_addip",),
    also=rules.complaints,
)
def allocate_instance_ip(ctx: Context, instance: TheInstance, body: IpAllocate) -> IpView:
    """Give an instance another public or private IPv4 address."""
    return rules.allocate(ctx, instance, body)


@endpoint("GET /v4/compute/instances/{compute_id}/ips/{address}", scope="computes:read_only", grant="compute:read_only")
def view_instance_ip(ctx: Context, held: TheAddress) -> IpView:
    """View an address of an instance."""
    return rules.view(ctx, held.instance, held.address)


@endpoint(
    "PUT /v4/compute/instances/{compute_id}/ips/{address}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("ipaddress_update",),
)
def update_instance_ip(ctx: Context, held: TheAddress, body: IpUpdate) -> IpView:
    """Set or reset the reverse name of an address."""
    return rules.rename(ctx, held.instance, held.address, body)


@endpoint(
    "DELETE /v4/compute/instances/{compute_id}/ips/{address}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_deleteip",),
)
def delete_instance_ip(ctx: Context, held: TheAddress) -> None:
    """Take a public IPv4 address away from an instance; never its last one."""
    rules.delete(ctx, held.instance, held.address)
