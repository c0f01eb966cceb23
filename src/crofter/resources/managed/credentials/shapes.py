"""Credentials as they are sent; of what is secret, nothing is ever shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.resources.managed import naming
from crofter.shapes import UNSET, Body, Id, Moment, Optional, Secret, View

CredentialLabel = Annotated[
    str,
    Meta(
        min_length=2,
        max_length=75,
        description="Unique within the account.",
        extra={"check": naming.label},
        extra_json_schema=naming.LABEL,
    ),
]
Username = Secret[Annotated[str, Meta(max_length=5000, description="Whom to sign in as. Never shown.")]]
Password = Secret[Annotated[str, Meta(min_length=1, max_length=5000, description="What to sign in with. Never shown.")]]


class CredentialView(View):
    """A credential, without what is secret."""

    id: Id
    label: str
    last_decrypted: Annotated[Moment | None, Meta(description="When the support staff last looked at it.")]


class CredentialCreate(Body, forbid_unknown_fields=True):
    label: CredentialLabel
    password: Password
    username: Username | None = None


class CredentialUpdate(Body):
    label: Optional[CredentialLabel] = UNSET


class CredentialSecrets(Body):
    password: Password
    username: Optional[Username] = UNSET


class SshKeyView(View):
    """The public key by which the experts sign in."""

    ssh_key: str
