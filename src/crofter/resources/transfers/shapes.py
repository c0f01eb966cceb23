"""Request and response bodies of transfers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Body, Filtered, Id, Moment, View

TransferStatus = Literal["accepted", "cancelled", "completed", "failed", "pending", "stale"]


class Entities(View):
    """Transferred objects by type."""

    computes: list[int]


class TransferView(View):
    """A transfer of instances to another account."""

    created: Filtered[Moment]
    entities: Entities
    expiry: Moment
    is_sender: Filtered[bool]
    status: Filtered[TransferStatus]
    token: Annotated[str, Meta(description="Whoever holds it may accept the transfer.")]
    updated: Filtered[Moment]


class EntitiesBody(Body):
    computes: Annotated[list[Id], Meta(min_length=1, max_length=500)]


class TransferCreate(Body):
    entities: EntitiesBody
