"""Images: list and view, for all callers; an account's own for users who may read them."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.errors import Forbidden, ScopeMissing
from crofter.resources.images import rules, store
from crofter.resources.images.shapes import ImageUpdate, ImageView
from crofter.scopes import covers
from crofter.shapes import Page

TheImage = Annotated[store.Image, Lookup(store.one, "image_id")]
OwnImage = Annotated[store.Image, Lookup(store.own, "image_id")]
OWN = "images:read_only"
"""Scope for the account's own images."""


@endpoint("GET /v4/images", scope="none", grant="any", catalogue="strangers")
def list_images(ctx: Context, listing: Listing) -> Page[ImageView]:
    """List the images: with a token those of the account, newest first, then the official ones."""
    caller = ctx.caller
    if caller is None or not covers(caller.scopes, OWN):
        return listing.of(ctx, store.PUBLIC, store.views)
    collection = store.GRANTED if caller.restricted else store.ALL
    return listing.of(ctx, collection, store.views, account_id=caller.account_id, user_id=caller.user_id)


@endpoint("GET /v4/images/{image_id:path}", scope="none", grant="any", catalogue="strangers", refuses=(Forbidden,))
def view_image(ctx: Context, image: TheImage) -> ImageView:
    """View an image."""
    if not image.is_public and not covers(ctx.actor.scopes, OWN):
        raise ScopeMissing
    rules.must_be_readable(ctx, image)
    return image.view()


@endpoint(
    "PUT /v4/images/{image_id:path}",
    scope="images:read_write",
    grant="image:read_write",
    events=("image_update",),
    refuses=(Forbidden,),
)
def update_image(ctx: Context, image: OwnImage, body: ImageUpdate) -> ImageView:
    """Change the label and the description of an image of the account."""
    return rules.update(ctx, image, body)
