"""Authorised applications as they are shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import Filtered, Id, Moment, View


class AuthorizedAppView(View):
    """An application that may act for the user."""

    created: Filtered[Moment]
    expiry: Filtered[Moment | None]
    id: Id
    label: str
    scopes: Annotated[str, Meta(description="What the application may do, separated by spaces.")]
    thumbnail_url: str | None
    website: Annotated[str | None, Meta(description="Where the application lives.")]
