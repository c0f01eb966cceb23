"""Issues as they are shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Id, Moment, View


class IssueEntity(View):
    """The ticket that the issue opened."""

    id: Id
    label: str
    type: Literal["ticket"]
    url: str


class IssueView(View):
    """An outage that monitoring has found."""

    created: Annotated[Moment, Meta(description="When it was found.")]
    entity: IssueEntity
    id: Id
    services: Annotated[list[int], Meta(description="The services affected.")]
