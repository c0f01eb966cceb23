"""Configuration profiles of an instance: list, create, view, update, delete."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.db.collections import Collection
from crofter.db.sql import bindparam
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.configs import rules
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.shapes import ConfigCreate, ConfigUpdate, ConfigView
from crofter.resources.instances.configs.store import Config
from crofter.shapes import Page

TheConfig = Annotated[Config, Lookup(configs.one, "compute_id", "config_id")]
CONFIGS = Collection(
    ConfigView,
    configs.ALL.where(configs.config.c.instance_id == bindparam("instance_id")),
    Config,
    key=configs.config.c.id,
    columns={name: configs.config.c[name] for name in ("created", "label", "updated")},
)


@endpoint("GET /v4/compute/instances/{compute_id}/configs", scope="computes:read_only", grant="compute:read_only")
def list_configs(ctx: Context, instance: TheInstance, listing: Listing) -> Page[ConfigView]:
    """List the configuration profiles of an instance."""
    return listing.of(ctx, CONFIGS, lambda rows: [rules.view(row) for row in rows], instance_id=instance.id)


@endpoint(
    "POST /v4/compute/instances/{compute_id}/configs",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_config_create",),
)
def create_config(ctx: Context, instance: TheInstance, body: ConfigCreate) -> ConfigView:
    """Add a configuration profile."""
    return rules.create(ctx, instance, body)


@endpoint(
    "GET /v4/compute/instances/{compute_id}/configs/{config_id}",
    scope="computes:read_only",
    grant="compute:read_only",
)
def view_config(ctx: Context, instance: TheInstance, config: TheConfig) -> ConfigView:
    """View a configuration profile."""
    return rules.view(config)


@endpoint(
    "PUT /v4/compute/instances/{compute_id}/configs/{config_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_config_update", "vlan_attach", "vlan_detach"),
)
def update_config(ctx: Context, instance: TheInstance, config: TheConfig, body: ConfigUpdate) -> ConfigView:
    """Change a configuration profile; it counts from the next boot on."""
    return rules.update(ctx, instance, config, body)


@endpoint(
    "DELETE /v4/compute/instances/{compute_id}/configs/{config_id}",
    scope="computes:read_write",
    grant="compute:read_write",
    events=("compute_config_delete", "vlan_detach"),
)
def delete_config(ctx: Context, instance: TheInstance, config: TheConfig) -> None:
    """Delete a configuration profile that is not in use."""
    rules.delete(ctx, instance, config)
