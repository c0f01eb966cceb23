"""What a contact is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.resources.managed.contacts import store
from crofter.resources.managed.contacts.shapes import ContactBody, ContactView, Phone
from crofter.resources.managed.contacts.store import Contact
from crofter.shapes import UNSET, given


def views(rows: Sequence[Contact]) -> list[ContactView]:
    return [view(row) for row in rows]


def view(row: Contact) -> ContactView:
    phone = Phone(row.phone_primary, row.phone_secondary)
    return ContactView(row.email, row.group_label, row.id, row.name, phone, row.updated)


def create(ctx: Context, body: ContactBody) -> ContactView:
    return view(store.reload(ctx, store.insert(ctx, _columns(body))))


def update(ctx: Context, contact: Contact, body: ContactBody) -> ContactView:
    store.change(ctx, contact.id, _columns(body))
    return view(store.reload(ctx, contact.id))


def _columns(body: ContactBody) -> dict[str, Any]:
    """What was sent, as it is kept. Of a telephone, one number may be sent without the other."""
    columns = given(body, "email", "name")
    if body.group is not UNSET:
        columns["group_label"] = body.group
    if body.phone is not UNSET:
        columns |= {f"phone_{name}": number for name, number in given(body.phone).items()}
    return columns
