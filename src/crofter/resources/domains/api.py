"""Domains: list, create, view, update, delete, clone, import, and the zone file."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.domains import importing, rules, store
from crofter.resources.domains.shapes import (
    DomainClone,
    DomainCreate,
    DomainImport,
    DomainUpdate,
    DomainView,
    ZoneFile,
)
from crofter.results import TwoPhaseWrite
from crofter.shapes import Page

TheDomain = Annotated[store.Domain, Lookup(store.one, "domain_id")]


@endpoint("GET /v4/domains", scope="domains:read_only", grant="any")
def list_domains(ctx: Context, listing: Listing) -> Page[DomainView]:
    """List the domains that the caller may view."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.ALL[ctx.actor.restricted]
    return listing.of(ctx, collection, store.views, **bounds)


@endpoint("POST /v4/domains", scope="domains:read_write", grant="add_domains", events=("dns_zone_create", "tag_create"))
def create_domain(ctx: Context, body: DomainCreate) -> DomainView:
    """Create a domain with a name that is unique on this server."""
    return rules.create(ctx, body)


@endpoint("POST /v4/domains/import", scope="domains:read_write", grant="add_domains", events=("dns_zone_import",))
def import_domain(ctx: Context, body: DomainImport) -> TwoPhaseWrite[DomainView]:
    """Create a domain with what another name server has of it; it must allow that (AXFR)."""
    return importing.begin(ctx, body)


@endpoint("GET /v4/domains/{domain_id}", scope="domains:read_only", grant="domain:read_only")
def view_domain(ctx: Context, domain: Annotated[store.Shown, Lookup(store.shown, "domain_id")]) -> DomainView:
    """View a domain."""
    return store.view(domain)


@endpoint(
    "PUT /v4/domains/{domain_id}",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_zone_update", "tag_create"),
)
def update_domain(ctx: Context, domain: TheDomain, body: DomainUpdate) -> DomainView:
    """Update a domain, including its name."""
    return rules.update(ctx, domain, body)


@endpoint(
    "DELETE /v4/domains/{domain_id}",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_zone_delete",),
)
def delete_domain(ctx: Context, domain: TheDomain) -> None:
    """Delete a domain and its records."""
    rules.delete(ctx, domain)


@endpoint(
    "POST /v4/domains/{domain_id}/clone",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_zone_create",),
)
def clone_domain(ctx: Context, domain: TheDomain, body: DomainClone) -> DomainView:
    """Create a domain with the settings and records of another."""
    return rules.clone(ctx, domain, body)


@endpoint(
    "GET /v4/domains/{domain_id}/zone-file",
    scope="domains:read_only",
    grant="domain:read_only",
    slow=True,
)
def view_zone_file(ctx: Context, domain: TheDomain) -> ZoneFile:
    """View the zone file of a master domain."""
    return rules.zone_file(ctx, domain)
