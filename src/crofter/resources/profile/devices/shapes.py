"""Trusted devices as they are shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import Id, Moment, View


class TrustedDeviceView(View):
    """A browser that need not show a second factor."""

    created: Moment
    expiry: Moment
    id: Id
    last_authenticated: Moment
    last_remote_addr: Annotated[str, Meta(description="The address that it last came from.")]
    user_agent: str
