"""Rules of private images: capture of disks, limits, and uploads."""

from __future__ import annotations

from collections.abc import Iterator

from crofter import clock
from crofter.context import Context
from crofter.engine import enqueue
from crofter.errors import Invalid, NotFound, Reason
from crofter.events import write
from crofter.jobs import author
from crofter.kinds import inaccessible
from crofter.resources.images import store as images
from crofter.resources.images.shapes import ImageCreate, ImageUpload, ImageUploadView, ImageView
from crofter.resources.images.store import Image
from crofter.resources.instances import states, store
from crofter.resources.instances.capture import operations
from crofter.resources.instances.capture.checks import MOST_UNPACKED
from crofter.resources.instances.capture.operations import (
    CAPTURE,
    DELETE,
    EXPIRE,
    IMAGES,
    UPLOAD,
    CaptureArgs,
    ExpireArgs,
    RemoveArgs,
    UploadArgs,
)
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.users import access

MOST_IMAGES = 100
"""Maximum number of images of an account, including unfinished ones."""
PENDING = clock.DAY
"""Lifetime of an upload address."""
FILESYSTEMS = ("ext3", "ext4", "raw")
MOUNT = "uploads"
"""The first part of the path that takes a file."""
TOO_MANY = f"An account can have at most {MOST_IMAGES} images."


def create(ctx: Context, body: ImageCreate) -> ImageView:
    disk, instance = _disk(ctx, body.disk_id)
    refuse(body, _about_disk(disk))
    _must_have_quota(ctx)
    states.must_be_idle(ctx, instance)
    if disk.status != "ready":
        raise Invalid("The disk is not ready.", field="disk_id")
    image = images.insert(
        ctx,
        label=body.label or disk.label,
        description=body.description,
        size=disk.size,
        filesystem=disk.filesystem,
        status="creating",
    )
    access.entrust(ctx, images.KIND, image.id)
    args = CaptureArgs(instance.id, disk.id, image.id)
    states.start_job(ctx, CAPTURE, instance, args, secondary=images.entity(image))
    return image.view()


def _disk(ctx: Context, disk_id: int) -> tuple[Disk, Instance]:
    """Return a disk of an instance that the caller may read. A disk of another account is not found."""
    disk = disks.owned_by_account(ctx, disk_id)
    if disk is None:
        raise NotFound
    if not access.permits(ctx, store.KIND, disk.instance_id, "read_only"):
        raise inaccessible("disk", "disk_id")
    return disk, store.one(ctx, disk.instance_id)


def _about_disk(disk: Disk) -> Iterator[Reason]:
    if disk.filesystem not in FILESYSTEMS:
        yield Reason("Only a disk with the filesystem ext3, ext4 or raw can become an image", "disk_id")
    if disk.filesystem == "raw" and disk.size > MOST_UNPACKED:  # the content of other disks is measured in a step
        yield Reason(f"A raw disk must not be larger than {MOST_UNPACKED} MB", "disk_id")


def _must_have_quota(ctx: Context) -> None:
    if images.count(ctx) >= MOST_IMAGES:
        raise Invalid(TOO_MANY)


def prepare_upload(ctx: Context, body: ImageUpload) -> ImageUploadView:
    """Create an image that waits for its file, with an upload address that only its owner sees."""
    if regions.find(ctx, body.region) is None:
        raise Invalid("region is not valid", field="region")
    _must_have_quota(ctx)
    secret = ctx.rng.hex(64)
    image = images.insert(
        ctx,
        label=body.label,
        description=body.description,
        size=0,
        filesystem="ext4",
        status="pending_upload",
        region=body.region,
        upload_digest=ctx.runtime.keyring.digest(secret),
    )
    access.entrust(ctx, images.KIND, image.id)
    event_id = write(ctx.db, ctx.now, author(ctx), UPLOAD.action, "scheduled", images.entity(image), percent=0)
    images.change(ctx, image.id, event_id=event_id)
    enqueue(ctx, EXPIRE, ExpireArgs(image.id), due=ctx.now + PENDING)
    return ImageUploadView(image=image.view(), upload_to=f"{ctx.base_url}/{MOUNT}/{secret}")


def is_waiting(ctx: Context, image: Image) -> bool:
    """True if the upload address is still valid."""
    return image.status == "pending_upload" and ctx.now - clock.parse(image.created) < PENDING


def received(ctx: Context, image_id: int, size: int, digest: str) -> None:
    """The file is whole and in its place: from here on it is a job like any other."""
    image = images.find_unscoped(ctx, image_id)
    if image is None or not is_waiting(ctx, image):
        raise NotFound
    images.change(ctx, image.id, size=size, updated=ctx.moment)
    IMAGES.start_job(ctx, UPLOAD, image, UploadArgs(image.id, size, digest), event_id=image.event_id)


def delete(ctx: Context, image: Image) -> None:
    """Accepted at any time. Its owner sees it no more from now on, and its host is rid of it soon."""
    if image.status == "pending_upload":
        operations.end_waiting(ctx, image, operations.GONE)
    # Before the job begins: what it cancels must not find the image, and take it away a second time.
    operations.forget(ctx, image)
    IMAGES.start_job(ctx, DELETE, image, RemoveArgs(image.id, image.host))
