"""SSH keys as they are sent and shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter import ssh
from crofter.shapes import UNSET, Body, Id, Moment, Optional, View

KeyLabel = Annotated[str, Meta(min_length=1, max_length=64, description="What the key is called.")]
SshKey = Annotated[
    str,
    Meta(
        max_length=16_384,
        description="An OpenSSH public key.",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtHg0whT5IDj7xp1EnRzkVGz user@example"],
        extra={"check": ssh.complaint},
    ),
]


class SshKeyView(View):
    """An SSH key of the user."""

    created: Moment
    id: Id
    label: str
    ssh_key: str


class SshKeyCreate(Body):
    label: KeyLabel
    ssh_key: SshKey


class SshKeyUpdate(Body):
    label: Optional[KeyLabel] = UNSET
