"""Managed contacts: list, create, view, update, delete."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.managed.api import Member
from crofter.resources.managed.contacts import store
from crofter.resources.managed.contacts.store import ContactBody, ContactView
from crofter.shapes import Page

TheContact = Annotated[store.Contact, Lookup(store.one, "contact_id")]


@endpoint("GET /v4/managed/contacts", scope="account:read_only", grant="unrestricted")
def list_managed_contacts(ctx: Context, member: Member, listing: Listing) -> Page[ContactView]:
    """List the people who are notified of problems."""
    return listing.of(ctx, store.CONTACTS, store.views, account_id=ctx.account_id)


@endpoint(
    "POST /v4/managed/contacts",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for contacts"),
)
def create_managed_contact(ctx: Context, member: Member, body: ContactBody) -> ContactView:
    """Add a contact."""
    return store.create(ctx, body)


@endpoint("GET /v4/managed/contacts/{contact_id}", scope="account:read_write", grant="unrestricted")
def view_managed_contact(ctx: Context, contact: TheContact) -> ContactView:
    """View a contact."""
    return store.view(contact)


@endpoint(
    "PUT /v4/managed/contacts/{contact_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for contacts"),
)
def update_managed_contact(ctx: Context, contact: TheContact, body: ContactBody) -> ContactView:
    """Change a contact."""
    return store.update(ctx, contact, body)


@endpoint(
    "DELETE /v4/managed/contacts/{contact_id}",
    scope="account:read_write",
    grant="unrestricted",
    events=NoEvents("the interface has no action for contacts"),
)
def delete_managed_contact(ctx: Context, contact: TheContact) -> None:
    """Remove a contact."""
    store.delete(ctx, contact.id)
