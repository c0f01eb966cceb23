"""Request and response bodies of StackScripts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.resources.stackscripts.udf import UserDefinedField
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View, Words, word

ScriptLabel = Annotated[str, Meta(min_length=3, max_length=128, description="Name of the script.", examples=["Setup"])]
Description = Annotated[str, Meta(max_length=65000, description="What the script does.")]
Images = Annotated[
    Words[list[Annotated[str, Meta(max_length=128)]]],
    Meta(
        min_length=1,
        max_length=200,
        description="Official images that it can be deployed with; `any/all` for each of them.",
        examples=[["compute/debian12"]],
    ),
]
RevNote = Annotated[str, Meta(max_length=512, description="What changed in the latest revision.")]
Script = Annotated[
    str,
    Meta(
        max_length=65535,
        description="What runs at the first boot; begins with `#!`.",
        examples=["#!/bin/sh\n"],
        extra_json_schema={"pattern": r"^#!(.|[\r\n])*$"},
    ),
]
AUTHOR = word("", where='"user_gravatar_id":""', whole=True)
"""Only scripts of the catalogue have no gravatar. In the view it follows the username, as `where` needs it."""
Public = Annotated[bool, Meta(description="Whether everybody may see and deploy it. There is no way back.")]


class StackScriptView(View):
    """A script that runs inside a new instance when it first boots."""

    created: Filtered[Moment]
    deployments_active: Annotated[int, Meta(description="Instances that were last deployed with it.")]
    deployments_total: Annotated[Filtered[int], Meta(description="How often it was deployed.")]
    description: Filtered[Description]
    id: Id
    images: Images
    is_public: Filtered[Public]
    label: Filtered[ScriptLabel]
    mine: Annotated[Filtered[bool], Meta(description="Whether it is of the caller's account.")]
    rev_note: Filtered[RevNote]
    script: Script
    updated: Filtered[Moment]
    user_defined_fields: Annotated[list[UserDefinedField], Meta(description="What it asks of who deploys it.")]
    username: Filtered[Annotated[str, AUTHOR, Meta(description="Author; `compute` for the scripts of the server.")]]
    user_gravatar_id: Annotated[
        str, Meta(description="MD5 of the author's email address, for Gravatar; empty for the scripts of the server.")
    ]


class StackScriptCreate(Body):
    label: ScriptLabel
    images: Images
    script: Script
    description: Description = ""
    is_public: Public = False
    rev_note: RevNote = ""


class StackScriptUpdate(Body):
    label: Optional[ScriptLabel] = UNSET
    images: Optional[Images] = UNSET
    script: Optional[Script] = UNSET
    description: Optional[Description] = UNSET
    is_public: Optional[Public] = UNSET
    rev_note: Optional[RevNote] = UNSET
