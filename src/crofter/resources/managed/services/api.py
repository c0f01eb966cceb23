"""Managed services: list, create, view, update, delete, switch on and off."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.managed.api import Member
from crofter.resources.managed.services import rules, store
from crofter.resources.managed.services.shapes import ServiceCreate, ServiceUpdate, ServiceView
from crofter.shapes import Page

TheService = Annotated[store.Service, Lookup(store.one, "service_id")]


@endpoint("GET /v4/managed/services", scope="account:read_only", grant="unrestricted")
def list_managed_services(ctx: Context, member: Member, listing: Listing) -> Page[ServiceView]:
    """List what is monitored."""
    return listing.of(ctx, store.SERVICES, lambda rows: rules.views(ctx, rows), account_id=ctx.account_id)


@endpoint(
    "POST /v4/managed/services",
    scope="account:read_write",
    grant="unrestricted",
    events=("managed_service_create",),
)
def create_managed_service(ctx: Context, member: Member, body: ServiceCreate) -> ServiceView:
    """Have something monitored."""
    return rules.create(ctx, body)


@endpoint("GET /v4/managed/services/{service_id}", scope="account:read_only", grant="unrestricted")
def view_managed_service(ctx: Context, service: TheService) -> ServiceView:
    """View a service, with its status."""
    return rules.view(ctx, service)


@endpoint(
    "PUT /v4/managed/services/{service_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for changes of a service"),
)
def update_managed_service(ctx: Context, service: TheService, body: ServiceUpdate) -> ServiceView:
    """Change what is monitored, or how."""
    return rules.update(ctx, service, body)


@endpoint(
    "DELETE /v4/managed/services/{service_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=("managed_service_delete", "ticket_update"),
)
def delete_managed_service(ctx: Context, service: TheService) -> None:
    """Stop monitoring, and forget the service."""
    rules.delete(ctx, service)


@endpoint(
    "POST /v4/managed/services/{service_id}/enable",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for the start of monitoring"),
)
def enable_managed_service(ctx: Context, service: TheService) -> ServiceView:
    """Go on monitoring."""
    return rules.enable(ctx, service)


@endpoint(
    "POST /v4/managed/services/{service_id}/disable",
    scope="account:read_write",
    grant="unrestricted",
    events=("ticket_update",),
)
def disable_managed_service(ctx: Context, service: TheService) -> ServiceView:
    """Stop monitoring for a while."""
    return rules.disable(ctx, service)
