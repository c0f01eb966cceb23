"""Contacts of managed accounts: how they are shown, kept and changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from crofter.context import Context
from crofter.db import Moment as MomentColumn
from crofter.db import Row, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, Index, Text, bindparam, select
from crofter.resources.managed import membership, naming
from crofter.resources.users.shapes import Email
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View, given

# ---- shapes ---------------------------------------------------------------------------------------------------------

ContactName = Annotated[
    str,
    Meta(
        min_length=2,
        max_length=64,
        description="Name of the contact.",
        extra={"check": naming.name},
        extra_json_schema=naming.NAME,
    ),
]
Group = Annotated[
    str, Meta(min_length=2, max_length=50, description="The group that services name as whom to consult.")
]
PhoneNumber = Annotated[str, Meta(max_length=32, examples=["555-0100"])]


class Phone(View):
    """How to call the contact."""

    primary: str | None
    secondary: str | None


class PhoneBody(Body):
    primary: Optional[PhoneNumber | None] = UNSET
    secondary: Optional[PhoneNumber | None] = UNSET


class ContactView(View):
    """A person who is notified of problems."""

    email: str | None
    group: Filtered[str | None]
    id: Id
    name: str | None
    phone: Phone
    updated: Filtered[Moment]


class ContactBody(Body):
    """Fields of a contact, all optional at creation and in updates."""

    email: Optional[Email] = UNSET
    group: Optional[Group | None] = UNSET
    name: Optional[ContactName] = UNSET
    phone: Optional[PhoneBody] = UNSET


# ---- rows -----------------------------------------------------------------------------------------------------------

contact = table(
    "managed_contact",
    identity(),
    owned(),
    Column("name", Text),
    Column("email", Text),
    Column("phone_primary", Text),
    Column("phone_secondary", Text),
    Column("group_label", Text),
    Column("updated", MomentColumn, nullable=False),
    Index("ix_managed_contact_account_id", "account_id", "id"),
)


class Contact(Row):
    id: int
    name: str | None
    email: str | None
    phone_primary: str | None
    phone_secondary: str | None
    group_label: str | None
    updated: str


_MINE = select(*(contact.c[name] for name in Contact.__struct_fields__)).where(
    contact.c.account_id == bindparam("account_id")
)
_COLUMNS = {"group": contact.c.group_label, "updated": contact.c.updated}
CONTACTS = Collection(ContactView, _MINE, Contact, key=contact.c.id, columns=_COLUMNS)
_ONE = query(_MINE.where(contact.c.id == bindparam("id")), Contact)
_EMAILS = query(
    select(contact.c.email)
    .where(
        contact.c.account_id == bindparam("account_id"),
        contact.c.group_label == bindparam("group"),
        contact.c.email.is_not(None),
    )
    .order_by(contact.c.id)
)


def one(ctx: Context, contact_id: int) -> Contact:
    membership.required(ctx)
    return reload(ctx, contact_id)


def reload(ctx: Context, contact_id: int) -> Contact:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=contact_id)


def insert(ctx: Context, values: dict[str, Any]) -> int:
    return ctx.db.insert(contact, account_id=ctx.account_id, updated=ctx.moment, **values)


def change(ctx: Context, contact_id: int, values: dict[str, Any]) -> None:
    ctx.db.update(contact, {"account_id": ctx.account_id, "id": contact_id}, updated=ctx.moment, **values)


def delete(ctx: Context, contact_id: int) -> None:
    ctx.db.delete(contact, account_id=ctx.account_id, id=contact_id)


def emails(ctx: Context, account_id: int, group: str) -> list[str]:
    """Where a group of contacts is reached, each address once."""
    return list(dict.fromkeys(ctx.db.column(_EMAILS, account_id=account_id, group=group)))


# ---- rules ----------------------------------------------------------------------------------------------------------


def views(rows: Sequence[Contact]) -> list[ContactView]:
    return [view(row) for row in rows]


def view(row: Contact) -> ContactView:
    phone = Phone(row.phone_primary, row.phone_secondary)
    return ContactView(row.email, row.group_label, row.id, row.name, phone, row.updated)


def create(ctx: Context, body: ContactBody) -> ContactView:
    return view(reload(ctx, insert(ctx, _columns(body))))


def update(ctx: Context, contact: Contact, body: ContactBody) -> ContactView:
    change(ctx, contact.id, _columns(body))
    return view(reload(ctx, contact.id))


def _columns(body: ContactBody) -> dict[str, Any]:
    """Return the sent fields as columns. Each telephone number may be sent without the other."""
    columns = given(body, "email", "name")
    if body.group is not UNSET:
        columns["group_label"] = body.group
    if body.phone is not UNSET:
        columns |= {f"phone_{name}": number for name, number in given(body.phone).items()}
    return columns
