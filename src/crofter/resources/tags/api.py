"""Tags: list, create, delete, and the objects that carry one."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.tags import rules, store
from crofter.resources.tags.shapes import TagCreate, TaggedObject, TagView
from crofter.shapes import Page

TheTag = Annotated[store.Tag, Lookup(store.by_label, "label")]
ChangedTag = Annotated[store.Tag, Lookup(store.changed, "label")]


@endpoint("GET /v4/tags", scope="account:read_only", grant="any")
def list_tags(ctx: Context, listing: Listing) -> Page[TagView]:
    """List the tags of the account; to a restricted user, those that are on objects which the user may see."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.GRANTED_TAGS if ctx.actor.restricted else store.TAGS
    return listing.of(ctx, collection, lambda rows: [TagView(row.label) for row in rows], **bounds)


@endpoint("POST /v4/tags", scope="account:read_write", grant="unrestricted", events=("tag_create",))
def create_tag(ctx: Context, body: TagCreate) -> TagView:
    """Create a tag, and put it on the listed objects."""
    return rules.create(ctx, body)


@endpoint("GET /v4/tags/{label}", scope="account:read_only", grant="any")
def list_tagged_objects(ctx: Context, tag: TheTag, listing: Listing) -> Page[TaggedObject]:
    """List the objects that carry a tag, of every kind."""
    bounds = {"tag_id": tag.id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.GRANTED_CARRIERS if ctx.actor.restricted else store.CARRIERS
    return listing.of(ctx, collection, lambda rows: rules.objects(ctx, rows), **bounds)


@endpoint("DELETE /v4/tags/{label}", scope="account:read_write", grant="unrestricted", events=("tag_delete",))
def delete_tag(ctx: Context, tag: ChangedTag) -> None:
    """Delete a tag and detach it from all objects."""
    rules.delete(ctx, tag)
