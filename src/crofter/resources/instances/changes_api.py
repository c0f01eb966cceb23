"""Instances: rebuild, resize, mutate, migrate, rescue, password."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.instances import changes
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.disks import rules as disks
from crofter.resources.instances.shapes import (
    InstanceView,
    Migrate,
    Mutate,
    PasswordReset,
    Rebuild,
    Rescue,
    Resize,
)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/rebuild",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_rebuild", "vlan_detach"),
)
def rebuild_instance(ctx: Context, instance: TheInstance, body: Rebuild) -> InstanceView:
    """Delete all disks and profiles of an instance, and deploy an image to it."""
    return changes.rebuild(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/resize",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_resize_create", "compute_resize"),
)
def resize_instance(ctx: Context, instance: TheInstance, body: Resize) -> None:
    """Change the plan of an instance."""
    changes.resize(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/mutate",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_mutate_create", "compute_mutate"),
)
def mutate_instance(ctx: Context, instance: TheInstance, body: Mutate) -> None:
    """Upgrade an instance of a deprecated plan to its successor."""
    changes.mutate(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/migrate",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_migrate_datacenter_create", "compute_migrate_datacenter", "compute_migrate"),
)
def migrate_instance(ctx: Context, instance: TheInstance, body: Migrate) -> None:
    """Move an instance to another region, or begin a pending move to another host."""
    changes.migrate(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/rescue",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_reboot", "compute_boot"),
)
def rescue_instance(ctx: Context, instance: TheInstance, body: Rescue) -> None:
    """Boot an instance into the rescue system."""
    changes.rescue(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/password",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("password_reset",),
)
def reset_instance_password(ctx: Context, instance: TheInstance, body: PasswordReset) -> None:
    """Reset the root password of an instance that is off."""
    disks.reset_password(ctx, instance, None, body.root_pass, "root_pass")
