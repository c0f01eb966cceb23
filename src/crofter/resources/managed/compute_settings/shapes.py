"""Settings of instances as they are sent and shown."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import UNSET, Body, Id, Optional, View

ANY = "any"
SshUser = Annotated[str, Meta(max_length=32, description="Whom to sign in as.", examples=["root"])]
SshIp = Annotated[str, Meta(description="An address of the instance, or `any`.", examples=[ANY])]
Port = Annotated[int, Meta(ge=1, le=65535, description="Where SSH listens.", examples=[22])]


class Ssh(View):
    """The way in by SSH."""

    access: Annotated[bool, Meta(description="Whether the support staff may sign in.")]
    ip: SshIp
    port: Port
    user: SshUser


class ComputeSettingsView(View):
    """How the support staff gets into an instance."""

    group: str
    id: Id
    label: str
    ssh: Ssh


class SshBody(Body):
    access: Optional[bool] = UNSET
    ip: Optional[SshIp] = UNSET
    port: Optional[Port] = UNSET
    user: Optional[SshUser] = UNSET


class ComputeSettingsUpdate(Body):
    ssh: Optional[SshBody] = UNSET
