"""Instances: create, list, view, update, delete, and power."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances import creation, rules, store
from crofter.resources.instances.shapes import InstanceCreate, InstanceUpdate, InstanceView, WithConfig
from crofter.shapes import Page

TheInstance = Annotated[store.Instance, Lookup(store.one, "compute_id")]


@endpoint("GET /v4/compute/instances", scope="computes:read_only", grant="any")
def list_instances(ctx: Context, listing: Listing) -> Page[InstanceView]:
    """List the instances that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.GRANTED if ctx.actor.restricted else store.ALL
    return listing.of(ctx, collection, rules.views, **bounds)


@endpoint(
    "POST /v4/compute/instances",
    scope="computes:read_write",
    grant="add_computes",
    events=("compute_create", "compute_boot", "tag_create", "vlan_attach"),
)
def create_instance(ctx: Context, body: InstanceCreate) -> InstanceView:
    """Create an instance; this incurs a charge."""
    return creation.create(ctx, body)


@endpoint("GET /v4/compute/instances/{compute_id}", scope="computes:read_only", grant="compute:read_only")
def view_instance(ctx: Context, instance: Annotated[store.Shown, Lookup(store.shown, "compute_id")]) -> InstanceView:
    """View one instance."""
    return rules.view(instance)


@endpoint(
    "PUT /v4/compute/instances/{compute_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_update", "tag_create"),
)
def update_instance(ctx: Context, instance: TheInstance, body: InstanceUpdate) -> InstanceView:
    """Change an instance's label, tags, alerts, backup schedule or watchdog."""
    return rules.update(ctx, instance, body)


@endpoint(
    "DELETE /v4/compute/instances/{compute_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_delete", "volume_detach"),
)
def delete_instance(ctx: Context, instance: TheInstance) -> None:
    """Delete an instance for good, with its disks, backups, profiles and addresses."""
    rules.delete(ctx, instance)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/boot",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_boot", "vlan_attach", "vlan_detach"),
)
def boot_instance(ctx: Context, instance: TheInstance, body: WithConfig) -> None:
    """Boot an instance that is off."""
    rules.boot(ctx, instance, body.config_id)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/reboot",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_reboot", "compute_boot", "vlan_attach", "vlan_detach"),
)
def reboot_instance(ctx: Context, instance: TheInstance, body: WithConfig) -> None:
    """Reboot an instance."""
    rules.reboot(ctx, instance, body.config_id)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/shutdown",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_shutdown",),
)
def shut_down_instance(ctx: Context, instance: TheInstance) -> None:
    """Shut an instance down."""
    rules.shutdown(ctx, instance)
