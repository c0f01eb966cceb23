"""Moving an instance: resize, mutate, migrate."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.move import rules
from crofter.resources.instances.shapes import Migrate, Mutate, Resize

TAG = "instances"


@endpoint(
    "POST /v4/compute/instances/{compute_id}/resize",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_resize_create", "compute_resize"),
)
def resize_instance(ctx: Context, instance: TheInstance, body: Resize) -> None:
    """Change the plan of an instance."""
    rules.resize(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/mutate",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_mutate_create", "compute_mutate"),
)
def mutate_instance(ctx: Context, instance: TheInstance, body: Mutate) -> None:
    """Upgrade an instance of a deprecated plan to its successor."""
    rules.mutate(ctx, instance, body)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/migrate",
    scope="computes:read_write",
    grant="compute:read_write",
    events=(
        "compute_migrate_datacenter_create",
        "compute_migrate_datacenter",
        "compute_migrate",
        "nodebalancer_node_delete",
    ),
)
def migrate_instance(ctx: Context, instance: TheInstance, body: Migrate) -> None:
    """Move an instance to another region, or begin a pending move to another host."""
    rules.migrate(ctx, instance, body)
