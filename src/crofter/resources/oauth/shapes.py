"""Request and response bodies of OAuth clients."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from crofter.config import is_loopback
from crofter.shapes import UNSET, Body, Filtered, Optional, Revealed, View

NO_REDIRECT = "Must be an https URL, or an http URL of this machine (127.0.0.1, [::1], localhost), without a fragment"


def redirect_complaint(value: str) -> str | None:
    """Return the problem of a redirect address: invalid, or readable by third parties."""
    if not (value.isascii() and value.isprintable()) or set(' "<>\\\\^`{|}#') & set(value):
        return NO_REDIRECT
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return NO_REDIRECT
    if not host or "@" in parts.netloc:
        return NO_REDIRECT
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    return None if safe else NO_REDIRECT


ClientLabel = Annotated[
    str, Meta(min_length=1, max_length=512, description="The name that users see when access is asked for.")
]
RedirectUri = Annotated[
    str,
    Meta(
        max_length=2048,
        description="Where a login is answered.",
        examples=["https://example.org/oauth/callback"],
        extra={"check": redirect_complaint},
        extra_json_schema={"format": "uri"},
    ),
]
Public = Annotated[bool, Meta(description="Whether the application cannot keep a secret, as in a browser or an app.")]


class OAuthClientView(View):
    """An application that may act for users."""

    id: Annotated[str, Meta(description="The client id; no secret.", examples=["2737bf16b39ab5d7b4a1"])]
    label: Filtered[ClientLabel]
    public: Filtered[Public]
    redirect_uri: RedirectUri
    secret: Revealed[Annotated[str, Meta(description="Masked, except where it was just reset.")]]
    status: Literal["active", "disabled", "suspended"]
    thumbnail_url: Annotated[str | None, Meta(description="Where its picture can be seen.")]


class OAuthClientCreate(Body, kw_only=True, forbid_unknown_fields=True):
    label: ClientLabel
    public: Public = False
    redirect_uri: RedirectUri


class OAuthClientUpdate(Body):
    label: Optional[ClientLabel] = UNSET
    public: Optional[Public] = UNSET
    redirect_uri: Optional[RedirectUri] = UNSET
