"""Firewalls: list, create, view, update, delete; their rules, and what they guard."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.firewalls import rules, store
from crofter.resources.firewalls.shapes import (
    FirewallCreate,
    FirewallDeviceCreate,
    FirewallDeviceView,
    FirewallUpdate,
    FirewallView,
    RulesUpdate,
    RulesView,
)
from crofter.resources.instances import store as instances
from crofter.shapes import Page

TheInstance = Annotated[instances.Instance, Lookup(instances.one, "compute_id")]
TheFirewall = Annotated[store.Firewall, Lookup(store.one, "firewall_id")]
TheDevice = Annotated[store.Device, Lookup(store.device, "firewall_id", "firewall_device_id")]


@endpoint("GET /v4/networking/firewalls", scope="firewall:read_only", grant="any")
def list_firewalls(ctx: Context, listing: Listing) -> Page[FirewallView]:
    """List the firewalls that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    return listing.of(ctx, store.ALL[ctx.actor.restricted], store.views, **bounds)


@endpoint(
    "POST /v4/networking/firewalls",
    scope="firewall:read_write",
    grant="add_firewalls",
    events=("firewall_create", "firewall_device_add", "tag_create"),
    also=rules.create_complaints,
)
def create_firewall(ctx: Context, body: FirewallCreate) -> FirewallView:
    """Create a firewall, and put it in front of the listed instances."""
    return rules.create(ctx, body)


@endpoint("GET /v4/networking/firewalls/{firewall_id}", scope="firewall:read_only", grant="firewall:read_only")
def view_firewall(ctx: Context, firewall: TheFirewall) -> FirewallView:
    """View a firewall."""
    return store.view(firewall)


@endpoint(
    "PUT /v4/networking/firewalls/{firewall_id}",
    scope="firewall:read_write",
    grant="firewall:read_write",
    events=("firewall_update", "firewall_enable", "firewall_disable", "tag_create"),
)
def update_firewall(ctx: Context, firewall: TheFirewall, body: FirewallUpdate) -> FirewallView:
    """Change the label, the tags or the status of a firewall."""
    return rules.update(ctx, firewall, body)


@endpoint(
    "DELETE /v4/networking/firewalls/{firewall_id}",
    scope="firewall:read_write",
    grant="firewall:read_write",
    events=("firewall_delete",),
)
def delete_firewall(ctx: Context, firewall: TheFirewall) -> None:
    """Delete a firewall; what it guarded is open to all traffic."""
    rules.delete(ctx, firewall)


@endpoint("GET /v4/networking/firewalls/{firewall_id}/devices", scope="firewall:read_only", grant="firewall:read_only")
def list_firewall_devices(ctx: Context, firewall: TheFirewall, listing: Listing) -> Page[FirewallDeviceView]:
    """List what a firewall guards."""
    return listing.of(
        ctx,
        store.DEVICES,
        lambda rows: [rules.device_view(row) for row in rows],
        owner=firewall.id,
        firewall_id=firewall.id,
    )


@endpoint(
    "POST /v4/networking/firewalls/{firewall_id}/devices",
    scope="firewall:read_write",
    grant="firewall:read_write",
    events=("firewall_device_add",),
)
def create_firewall_device(ctx: Context, firewall: TheFirewall, body: FirewallDeviceCreate) -> FirewallDeviceView:
    """Put a firewall in front of an instance."""
    return rules.add_device(ctx, firewall, body)


@endpoint(
    "GET /v4/networking/firewalls/{firewall_id}/devices/{firewall_device_id}",
    scope="firewall:read_only",
    grant="firewall:read_only",
)
def view_firewall_device(ctx: Context, firewall: TheFirewall, device: TheDevice) -> FirewallDeviceView:
    """View an instance that a firewall protects."""
    return rules.device_view(device)


@endpoint(
    "DELETE /v4/networking/firewalls/{firewall_id}/devices/{firewall_device_id}",
    scope="firewall:read_write",
    grant="firewall:read_write",
    events=("firewall_device_remove",),
)
def delete_firewall_device(ctx: Context, firewall: TheFirewall, device: TheDevice) -> None:
    """Take a firewall away from an instance, which is open to all traffic then."""
    rules.remove_device(ctx, firewall, device)


@endpoint("GET /v4/networking/firewalls/{firewall_id}/rules", scope="firewall:read_only", grant="firewall:read_only")
def view_firewall_rules(ctx: Context, firewall: TheFirewall) -> RulesView:
    """View the rules of a firewall."""
    return store.rules_of(firewall)


@endpoint(
    "PUT /v4/networking/firewalls/{firewall_id}/rules",
    scope="firewall:read_write",
    grant="firewall:read_write",
    events=("firewall_update",),
    also=rules.update_complaints,
)
def update_firewall_rules(ctx: Context, firewall: TheFirewall, body: RulesUpdate) -> RulesView:
    """Replace the rules of one direction or of both; what is not sent stays."""
    return rules.update_rules(ctx, firewall, body)


@endpoint("GET /v4/compute/instances/{compute_id}/firewalls", scope="computes:read_only", grant="compute:read_only")
def list_instance_firewalls(ctx: Context, instance: TheInstance, listing: Listing) -> Page[FirewallView]:
    """List the firewalls that guard an instance."""
    return listing.of(
        ctx,
        store.OF_OBJECT[ctx.actor.restricted],
        store.views,
        account_id=ctx.account_id,
        user_id=ctx.actor.user_id,
        kind=instances.KIND,
        object_id=instance.id,
    )
