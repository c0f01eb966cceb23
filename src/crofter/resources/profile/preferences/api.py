"""Preferences: a document of the client's own making, kept for each user and client."""

from __future__ import annotations

from typing import Any

import msgspec

from crofter.context import Context
from crofter.edge.endpoint import NoEvents, endpoint
from crofter.edge.json_reader import read_object
from crofter.resources.profile.preferences import store
from crofter.results import Upload

MAX_SIZE = 64 * 1024


class Document(Upload, frozen=True):
    """A JSON object of any shape."""

    def __post_init__(self) -> None:
        read_object(self.content)  # or it is refused

    @property
    def value(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.json.decode(self.content or b"{}")
        return document


@endpoint("GET /v4/profile/preferences", scope="account:read_only", grant="any")
def view_preferences(ctx: Context) -> dict[str, Any]:
    """View the preferences that this client has stored."""
    return store.document(ctx)


@endpoint(
    "PUT /v4/profile/preferences",
    scope="account:read_write",
    grant="any",
    accepts=("application/json",),
    max_body=MAX_SIZE,
    events=NoEvents("the interface has no action for preferences"),
)
def update_preferences(ctx: Context, body: Document) -> dict[str, Any]:
    """Replace the preferences that this client has stored."""
    store.replace(ctx, body.value)
    return body.value
