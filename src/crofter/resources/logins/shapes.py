"""Logins as they are shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Id, Moment, View


class LoginView(View):
    """A login at the login service."""

    datetime: Annotated[Moment, Meta(description="When it was tried.")]
    id: Id
    ip: Annotated[str, Meta(description="The address that it came from.", examples=["192.0.2.1"])]
    restricted: Annotated[bool, Meta(description="Whether the user was restricted.")]
    status: Literal["successful", "failed"]
    username: str
