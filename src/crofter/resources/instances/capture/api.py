"""Images of accounts: make one from a disk, ask where to send a file, delete one."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.errors import Forbidden, NotFound
from crofter.resources.images import store as images
from crofter.resources.images.shapes import ImageCreate, ImageUpload, ImageUploadView, ImageView
from crofter.resources.images.store import Image
from crofter.resources.instances.capture import rules

TAG = "images"
OwnImage = Annotated[Image, Lookup(images.own, "image_id")]


@endpoint(
    "POST /v4/images",
    scope="images:read_write computes:read_only",
    grant="add_images",
    events=("disk_imagize",),
    refuses=(Forbidden, NotFound),
)
def create_image(ctx: Context, body: ImageCreate) -> ImageView:
    """Make an image from a disk, which may be in use meanwhile."""
    return rules.create(ctx, body)


@endpoint("POST /v4/images/upload", scope="images:read_write", grant="add_images", events=("image_upload",))
def upload_image(ctx: Context, body: ImageUpload) -> ImageUploadView:
    """Make an image from a gzip file, which is then sent to the given address with PUT, within 24 hours."""
    return rules.prepare_upload(ctx, body)


@endpoint(
    "DELETE /v4/images/{image_id:path}",
    scope="images:read_write",
    grant="image:read_write",
    events=("image_delete",),
    refuses=(Forbidden,),
)
def delete_image(ctx: Context, image: OwnImage) -> None:
    """Delete an image of the account; disks that were made from it stay."""
    rules.delete(ctx, image)
