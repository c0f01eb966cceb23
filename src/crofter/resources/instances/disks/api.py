"""Disks of an instance: list, create, view, update, delete, clone, resize, password."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.db.collections import Collection
from crofter.db.sql import bindparam
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.disks import rules
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.shapes import (
    DiskCreate,
    DiskPassword,
    DiskResize,
    DiskUpdate,
    DiskView,
)
from crofter.resources.instances.disks.store import Disk
from crofter.shapes import Page

TheDisk = Annotated[Disk, Lookup(disks.one, "compute_id", "disk_id")]
DISKS = Collection(
    DiskView,
    disks.ALL.where(disks.disk.c.instance_id == bindparam("instance_id")),
    Disk,
    key=disks.disk.c.id,
    columns={name: disks.disk.c[name] for name in ("created", "label", "size", "updated")},
)


@endpoint("GET /v4/compute/instances/{compute_id}/disks", scope="computes:read_only", grant="compute:read_only")
def list_disks(ctx: Context, instance: TheInstance, listing: Listing) -> Page[DiskView]:
    """List the disks of an instance."""
    return listing.of(ctx, DISKS, lambda rows: [rules.view(row) for row in rows], instance_id=instance.id)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/disks",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("disk_create",),
)
def create_disk(ctx: Context, instance: TheInstance, body: DiskCreate) -> DiskView:
    """Add an empty disk, or one deployed from an image."""
    return rules.create(ctx, instance, body)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/disks/{disk_id}", scope="computes:read_only", grant="compute:read_only"
)
def view_disk(ctx: Context, instance: TheInstance, disk: TheDisk) -> DiskView:
    """View a disk."""
    return rules.view(disk)


@endpoint(
    "PUT /v4/compute/instances/{compute_id}/disks/{disk_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("disk_update",),
)
def update_disk(ctx: Context, instance: TheInstance, disk: TheDisk, body: DiskUpdate) -> DiskView:
    """Change the label of a disk."""
    return rules.update(ctx, instance, disk, body)


@endpoint(
    "DELETE /v4/compute/instances/{compute_id}/disks/{disk_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("disk_delete",),
)
def delete_disk(ctx: Context, instance: TheInstance, disk: TheDisk) -> None:
    """Delete a disk that is not in use, with everything on it."""
    rules.delete(ctx, instance, disk)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/disks/{disk_id}/clone",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("disk_duplicate",),
)
def clone_disk(ctx: Context, instance: TheInstance, disk: TheDisk) -> DiskView:
    """Copy a disk byte for byte into a new one of the same instance."""
    return rules.clone(ctx, instance, disk)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/disks/{disk_id}/password",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("password_reset",),
)
def reset_disk_password(ctx: Context, instance: TheInstance, disk: TheDisk, body: DiskPassword) -> None:
    """Reset the root password on a disk of an instance that is off."""
    rules.reset_password(ctx, instance, disk, body.password, "password")


@endpoint(
    "POST /v4/compute/instances/{compute_id}/disks/{disk_id}/resize",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("disk_resize",),
)
def resize_disk(ctx: Context, instance: TheInstance, disk: TheDisk, body: DiskResize) -> None:
    """Resize a disk; this fails later if it is in use or too full."""
    rules.resize(ctx, instance, disk, body.size)
