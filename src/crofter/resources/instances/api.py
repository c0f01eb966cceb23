"""Instances: list, create, view, update, delete, rebuild, password and clone."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances import clone, delete, rebuild, rules, store, views
from crofter.resources.instances.create import rules as create
from crofter.resources.instances.disks import rules as disks
from crofter.resources.instances.shapes import (
    Clone,
    InstanceCreate,
    InstanceUpdate,
    InstanceView,
    PasswordReset,
    Rebuild,
)
from crofter.shapes import Page

TheInstance = Annotated[store.Instance, Lookup(store.one, "compute_id")]


@endpoint("GET /v4/compute/instances", scope="computes:read_only", grant="any")
def list_instances(ctx: Context, listing: Listing) -> Page[InstanceView]:
    """List the instances that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.ALL[ctx.actor.restricted]
    return listing.of(ctx, collection, partial(views.views, ctx), **bounds)


@endpoint(
    "POST /v4/compute/instances",
    scope="computes:read_write",
    grant="add_computes",
    events=("compute_create", "compute_boot", "firewall_device_add", "tag_create", "vlan_attach"),
)
def create_instance(ctx: Context, body: InstanceCreate) -> InstanceView:
    """Create an instance; this incurs a charge."""
    return create.create(ctx, body)


@endpoint("GET /v4/compute/instances/{compute_id}", scope="computes:read_only", grant="compute:read_only")
def view_instance(ctx: Context, instance: Annotated[store.Shown, Lookup(store.shown, "compute_id")]) -> InstanceView:
    """View an instance."""
    return views.view(ctx, instance)


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
    events=("compute_delete", "volume_detach", "firewall_device_remove", "nodebalancer_node_delete"),
)
def delete_instance(ctx: Context, instance: TheInstance) -> None:
    """Delete an instance for good, with its disks, backups, profiles and addresses."""
    delete.delete(ctx, instance)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/rebuild",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_rebuild", "vlan_detach"),
)
def rebuild_instance(ctx: Context, instance: TheInstance, body: Rebuild) -> InstanceView:
    """Delete all disks and profiles of an instance, and deploy an image to it."""
    return rebuild.rebuild(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/password",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("password_reset",),
)
def reset_instance_password(ctx: Context, instance: TheInstance, body: PasswordReset) -> None:
    """Reset the root password of an instance that is off."""
    disks.reset_password(ctx, instance, None, body.root_pass, "root_pass")


@endpoint(
    "POST /v4/compute/instances/{compute_id}/clone",
    scope="computes:read_write",
    grant="add_computes",
    events=("compute_clone",),
)
def clone_instance(ctx: Context, instance: TheInstance, body: Clone) -> InstanceView:
    """Copy an instance's disks and profiles onto a new or an existing instance."""
    return clone.clone(ctx, instance, body)
