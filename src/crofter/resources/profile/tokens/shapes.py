"""Personal access tokens as they are sent and shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, Revealed, View, moment_in


def moment_complaint(value: str) -> str | None:
    try:
        moment_in(value)
    except ValueError:
        return "Must be a date-time: YYYY-MM-DDTHH:MM:SS"
    return None


TokenLabel = Annotated[str, Meta(min_length=1, max_length=100, description="What the token is for.")]
Scopes = Annotated[
    str,
    Meta(
        max_length=1000,
        description="What the token may do, separated by spaces; `*` for everything.",
        examples=["computes:read_write account:read_only"],
    ),
]
Expiry = Annotated[
    str,
    Meta(
        description="When the token ends; null: never.",
        examples=["2027-03-01T12:00:00"],
        extra={"check": moment_complaint},
        extra_json_schema={"format": "date-time"},
    ),
]


class TokenView(View):
    """A personal access token."""

    created: Filtered[Moment]
    expiry: Moment | None
    id: Id
    label: Filtered[TokenLabel]
    scopes: Scopes
    token: Revealed[
        Annotated[str, Meta(description="The whole token when it is made, its first 16 characters afterwards.")]
    ]


class TokenCreate(Body):
    scopes: Scopes | None = None
    expiry: Expiry | None = None
    label: TokenLabel = "Personal access token"


class TokenUpdate(Body):
    label: Optional[TokenLabel] = UNSET
