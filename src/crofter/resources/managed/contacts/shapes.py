"""Contacts as they are sent and shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.resources.managed import naming
from crofter.resources.users.shapes import Email
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View

ContactName = Annotated[
    str,
    Meta(min_length=2, max_length=64, description="Name of the contact.", extra={"check": naming.name}),
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
    """Somebody who is told when something is wrong."""

    email: str | None
    group: Filtered[str | None]
    id: Id
    name: str | None
    phone: Phone
    updated: Moment


class ContactBody(Body):
    """All of it optional, for a new contact and for a change alike."""

    email: Optional[Email] = UNSET
    group: Optional[Group | None] = UNSET
    name: Optional[ContactName] = UNSET
    phone: Optional[PhoneBody] = UNSET
