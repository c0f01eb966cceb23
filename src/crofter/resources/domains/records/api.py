"""Records of a domain: list, create, view, update, delete."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.domains import store as domains
from crofter.resources.domains.records import rules, store
from crofter.resources.domains.records.shapes import RecordCreate, RecordUpdate, RecordView
from crofter.shapes import Page

TAG = "domains"


def _record(ctx: Context, domain_id: int, record_id: int) -> store.Record:
    return store.one(ctx, domains.one(ctx, domain_id), record_id)


TheDomain = Annotated[domains.Domain, Lookup(domains.one, "domain_id")]
TheRecord = Annotated[store.Record, Lookup(_record, "domain_id", "record_id")]


@endpoint("GET /v4/domains/{domain_id}/records", scope="domains:read_only", grant="domain:read_only")
def list_domain_records(ctx: Context, domain: TheDomain, listing: Listing) -> Page[RecordView]:
    """List the records of a domain."""
    return listing.of(ctx, store.ALL, partial(store.views, domain), owner=domain.id, domain_id=domain.id)


@endpoint(
    "POST /v4/domains/{domain_id}/records",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_record_create",),
)
def create_domain_record(ctx: Context, domain: TheDomain, body: RecordCreate) -> RecordView:
    """Add a record to a master domain."""
    return rules.create(ctx, domain, body)


@endpoint("GET /v4/domains/{domain_id}/records/{record_id}", scope="domains:read_only", grant="domain:read_only")
def view_domain_record(ctx: Context, domain: TheDomain, record: TheRecord) -> RecordView:
    """View a record of a domain."""
    return store.view(domain, record)


@endpoint(
    "PUT /v4/domains/{domain_id}/records/{record_id}",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_record_update",),
)
def update_domain_record(ctx: Context, domain: TheDomain, record: TheRecord, body: RecordUpdate) -> RecordView:
    """Change a record of a domain."""
    return rules.update(ctx, domain, record, body)


@endpoint(
    "DELETE /v4/domains/{domain_id}/records/{record_id}",
    scope="domains:read_write",
    grant="domain:read_write",
    events=("dns_record_delete",),
)
def delete_domain_record(ctx: Context, domain: TheDomain, record: TheRecord) -> None:
    """Delete a record of a domain."""
    rules.delete(ctx, domain, record)
