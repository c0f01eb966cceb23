"""StackScripts as callers see them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.resources.stackscripts.udf import UserDefinedField
from crofter.shapes import Filtered, Id, Moment, View


class StackScriptView(View):
    """What runs inside a new instance when it first boots."""

    created: Moment
    deployments_active: Annotated[int, Meta(description="Instances that were deployed with it and still exist.")]
    deployments_total: Annotated[Filtered[int], Meta(description="How often it was deployed.")]
    description: Filtered[str]
    id: Id
    images: Annotated[list[str], Meta(description="The images it can be deployed with; `any/all` for every one.")]
    is_public: Filtered[bool]
    label: Annotated[Filtered[str], Meta(min_length=3, max_length=128)]
    mine: Annotated[Filtered[bool], Meta(description="Whether it is the caller's account's own.")]
    rev_note: Annotated[Filtered[str], Meta(description="What the latest change was.")]
    script: str
    updated: Moment
    user_defined_fields: list[UserDefinedField]
    user_gravatar_id: str
    username: str
