"""Images as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Filtered, Moment, View


class ImageView(View):
    """What a disk can be made from."""

    created: Moment
    created_by: Annotated[str, Meta(description="A username, or `compute` for an official image.")]
    deprecated: Annotated[Filtered[bool], Meta(description="Whether its distribution is no longer cared for.")]
    description: str | None
    eol: Annotated[Moment | None, Meta(description="When its distribution reaches the end of its life.")]
    expiry: Annotated[Moment | None, Meta(description="When an automatic image vanishes.")]
    id: Annotated[str, Meta(description="Identifies the image.", examples=["compute/debian12"])]
    is_public: Filtered[bool]
    label: Annotated[Filtered[str], Meta(examples=["Debian 12"])]
    size: Annotated[Filtered[int], Meta(description="The least size of a disk made from it, in MB.", examples=[1300])]
    status: Literal["creating", "pending_upload", "available"]
    type: Filtered[Literal["manual", "automatic"]]
    updated: Moment
    vendor: Annotated[Filtered[str | None], Meta(description="The distribution; null for an own image.")]
