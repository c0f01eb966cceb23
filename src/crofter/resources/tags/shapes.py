"""Request and response bodies of tags."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from crofter.shapes import Body, Id, View, Word

TagLabel = Annotated[str, Meta(min_length=3, max_length=50, description="Name of the tag.", examples=["production"])]
Ids = Annotated[list[Id], Meta(max_length=500, description="Objects that get the tag.")]


class TagView(View):
    """A tag of the account."""

    label: TagLabel


class TagCreate(Body):
    label: TagLabel
    computes: Ids = []
    domains: Ids = []
    nodebalancers: Ids = []
    volumes: Ids = []


class TaggedObject(View):
    """An object that carries a tag, in the shape of its own kind."""

    type: Annotated[Word[str], Meta(description="compute, domain, nodebalancer or volume")]
    data: Any
