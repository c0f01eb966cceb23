"""Request and response bodies of tickets and replies."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Address, Body, Filtered, Id, Moment, Raw, View, Word

LONGEST_SUMMARY, LONGEST = 64, 65000
"""Characters of a summary, and of any other text."""
Summary = Annotated[str, Meta(min_length=1, max_length=LONGEST_SUMMARY, description="What it is about, in one line.")]
Description = Annotated[str, Meta(min_length=1, max_length=LONGEST, description="What the matter is.")]
Gravatar = Annotated[str, Meta(description="MD5 of the writer's email address, for an avatar.")]
VlanLabel = Annotated[str, Meta(min_length=1, max_length=64, description="Label of a VLAN; needs `region`.")]
TicketStatus = Literal["closed", "new", "open"]


class TicketEntity(View):
    """The object that a ticket is about."""

    id: Annotated[Raw, Meta(extra_json_schema={"type": ["integer", "string", "null"]})]
    label: str | None
    type: Word[str]
    url: Address[str | None]


class TicketView(View):
    """A support ticket."""

    attachments: Annotated[list[str], Meta(description="Names of the attached files.")]
    closable: Annotated[bool, Meta(description="Whether the ticket may be closed by its account.")]
    closed: Filtered[Moment | None]
    description: str
    entity: TicketEntity | None
    gravatar_id: Gravatar
    id: Id
    opened: Filtered[Moment]
    opened_by: str
    status: Filtered[TicketStatus]
    summary: str
    updated: Filtered[Moment]
    updated_by: str | None


class ReplyView(View):
    """A reply to a ticket."""

    created: Filtered[Moment]
    created_by: str
    description: str
    from_compute: Annotated[bool, Meta(description="Whether it comes from the support staff.")]
    gravatar_id: Gravatar
    id: Id


class TicketCreate(Body):
    description: Description
    summary: Summary
    domain_id: Id | None = None
    compute_id: Id | None = None
    lkecluster_id: Id | None = None
    longviewclient_id: Id | None = None
    nodebalancer_id: Id | None = None
    volume_id: Id | None = None
    managed_issue: bool = False
    region: Annotated[str, Meta(description="Region of the VLAN.")] | None = None
    vlan: VlanLabel | None = None


class ReplyCreate(Body):
    description: Annotated[str, Meta(min_length=1, max_length=65535)]
