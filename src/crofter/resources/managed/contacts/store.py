"""Contacts of managed accounts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Index, Text, bindparam, select

from crofter.context import Context
from crofter.db import Moment, Row, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.resources.managed import membership
from crofter.resources.managed.contacts.shapes import ContactView

contact = table(
    "managed_contact",
    identity(),
    owned(),
    Column("name", Text),
    Column("email", Text),
    Column("phone_primary", Text),
    Column("phone_secondary", Text),
    Column("group_label", Text),
    Column("updated", Moment, nullable=False),
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
CONTACTS = Collection(ContactView, _MINE, Contact, key=contact.c.id, columns={"group": contact.c.group_label})
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
