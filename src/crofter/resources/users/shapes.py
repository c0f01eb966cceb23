"""Request and response bodies of users."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from crofter.shapes import UNSET, Body, Filtered, Optional, View

_USERNAME = re.compile(r"[A-Za-z0-9](?:[_-]?[A-Za-z0-9])+")


def username_complaint(value: str) -> str | None:
    """Why a name of the right length cannot be a username."""
    if _USERNAME.fullmatch(value):
        return None
    return "Must be letters and digits, with single - or _ between them"


def email_complaint(value: str) -> str | None:
    """Why a text cannot be an e-mail address. Names of one's own network are as good as public ones."""
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - slow to import, rarely used

    _, _, domain = value.rpartition("@")
    try:
        # With a common suffix: the library refuses reserved ones such as .local.
        validate_email(f"{value}.com", check_deliverability=False)
    except EmailNotValidError:
        return "Must be a valid email address"
    return None if "." in domain else "Must be a valid email address"


Username = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=32,
        description="Letters and digits, with single - or _ between them; unique on the whole platform.",
        examples=["example-user"],
        extra={"check": username_complaint},
        extra_json_schema={"pattern": "^[A-Za-z0-9]([_-]?[A-Za-z0-9])+$"},
    ),
]
Email = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=128,
        description="Where mail reaches the user.",
        examples=["user@example.com"],
        extra={"check": email_complaint},
        extra_json_schema={"format": "email"},
    ),
]
Restricted = Annotated[bool, Meta(description="Whether the user may do only what its grants say.")]


class UserView(View):
    """A user of the account."""

    email: Email
    restricted: Restricted
    ssh_keys: Annotated[list[str], Meta(description="Labels of the user's SSH keys.")]
    tfa_enabled: Annotated[bool, Meta(description="Whether the user logs in with a second factor.")]
    username: Filtered[Username]


class UserCreate(Body):
    username: Username
    email: Email
    restricted: Restricted = True


class UserUpdate(Body):
    username: Optional[Username] = UNSET
    email: Optional[Email] = UNSET
    restricted: Optional[Restricted] = UNSET
