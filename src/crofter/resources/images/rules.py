"""Permissions to read and deploy images."""

from __future__ import annotations

from crofter.context import Context
from crofter.errors import Forbidden
from crofter.events import record
from crofter.kinds import inaccessible
from crofter.resources.images import store
from crofter.resources.images.shapes import ImageUpdate, ImageView
from crofter.resources.images.store import KIND, Image
from crofter.resources.users import access
from crofter.shapes import given


def must_be_readable(ctx: Context, image: Image) -> None:
    if not _readable(ctx, image):
        raise Forbidden


def must_be_deployable(ctx: Context, image: Image) -> None:
    """The same, where a body names the image."""
    if not _readable(ctx, image):
        raise inaccessible(KIND, "image")


def _readable(ctx: Context, image: Image) -> bool:
    """True if the caller may read the image: it is public, or the user holds a grant."""
    return image.is_public or access.permits(ctx, KIND, image.id, "read_only")


def update(ctx: Context, image: Image, body: ImageUpdate) -> ImageView:
    """Label and description; what it is in the middle of is not for its owner to say."""
    store.change(ctx, image.id, **given(body, "label", "description"), updated=ctx.moment)
    changed = store.own(ctx, image.slug)
    record(ctx, "image_update", store.entity(changed))
    return changed.view()
