"""Turning an instance on and off: boot, reboot, shutdown, rescue."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.power import rules
from crofter.resources.instances.shapes import Rescue, WithConfig

TAG = "instances"


@endpoint(
    "POST /v4/compute/instances/{compute_id}/boot",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_boot", "vlan_attach", "vlan_detach", "volume_attach"),
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


@endpoint(
    "POST /v4/compute/instances/{compute_id}/rescue",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_reboot", "compute_boot"),
)
def rescue_instance(ctx: Context, instance: TheInstance, body: Rescue) -> None:
    """Boot an instance into the rescue system."""
    rules.rescue(ctx, instance, body)
