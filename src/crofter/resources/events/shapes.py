"""Response bodies of events."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Address, EntityId, Filtered, Id, Moment, Raw, View, Word, word

MESSAGE = word("The ", capital=True, pattern="Volume [A-Za-z0-9_-]+ is attached to another ")
"""Dialect rule of messages that name an instance."""
EventStatus = Literal["failed", "finished", "notification", "scheduled", "started"]
ObjectId = Annotated[
    EntityId[Raw],
    Meta(
        description="The object's id: a number, or a string where it has no number.",
        extra_json_schema={"type": ["integer", "string", "null"]},
    ),
]


class EventEntity(View):
    """The object that an event is about."""

    id: Filtered[ObjectId]
    label: str | None
    type: Filtered[Word[str]]
    url: Address[str | None]


class SecondaryEntity(View):
    """A second object that an event refers to."""

    id: ObjectId
    label: str | None
    type: Word[str]
    url: Address[str | None]


class EventView(View):
    """Something that happened on the account."""

    action: Filtered[Annotated[Word[str], Meta(description="What was done; more actions may be added.")]]
    created: Filtered[Moment]
    duration: Annotated[float | None, Meta(description="Seconds since it started, or that it took.")]
    entity: EventEntity | None
    id: Filtered[Id]
    message: Annotated[str | None, MESSAGE]
    percent_complete: Annotated[int | None, Meta(description="Null where nothing is in progress.")]
    rate: str | None
    read: bool
    secondary_entity: SecondaryEntity | None
    seen: bool
    status: Filtered[EventStatus]
    time_remaining: Annotated[str | None, Meta(description="``HH:MM:SS``, while it is known.")]
    username: str | None
