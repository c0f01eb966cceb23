"""Creation and removal of images on hosts."""

from __future__ import annotations

from msgspec import Struct

from crofter import events
from crofter.context import Context
from crofter.drivers.hypervisor import DiskRef, DomainSpec, FromDisk, FromUpload, ImageRef
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, step, tx_step
from crofter.jobs import Job, Subject
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances import hypervisor_client, states
from crofter.resources.instances.capture.checks import MOST_UNPACKED
from crofter.resources.instances.purging import PURGE, PurgeArgs
from crofter.resources.users import access

GONE = "The image was deleted."
EXPIRED = "No file was uploaded within 24 hours."
_IN_REGION = DomainSpec(1, 1024)
"""An image needs a host with no more than any machine needs."""

IMAGES: Subject[Image] = Subject("image", entity=images.entity, show=images.show)


class CaptureArgs(Struct, frozen=True):
    instance_id: int
    disk_id: int
    image_id: int


class UploadArgs(Struct, frozen=True):
    image_id: int
    size: int
    digest: str


class RemoveArgs(Struct, frozen=True):
    """Arguments for the removal of an image that its owner has deleted."""

    image_id: int
    host: int | None


class ExpireArgs(Struct, frozen=True):
    image_id: int


def _current(work: StepContext) -> Image:
    with work.read() as ctx:
        image = images.find_unscoped(ctx, work.args.image_id)
    if image is None:
        raise Failed(GONE)
    return image


def _ref(image: Image) -> ImageRef:
    if image.host is None:
        raise Failed("The image was never put on a host.")
    return ImageRef(image.host, image.id)


def _put_on(ctx: Context, image: Image, host: int | None) -> None:
    images.change(ctx, image.id, host=host)


@step(weight=5)
def choose_host(work: StepContext) -> Sleep | None:
    """Choose the host of the disk. Stored first, because a failed copy is cleaned up there."""
    image, instance = _current(work), hypervisor_client.current(work)
    if instance.host is None:
        raise Failed("The disk was never made.")
    disk = hypervisor_client.hypervisor(work.runtime).observe(DiskRef(instance.host, work.args.disk_id))
    if disk.presence == "unknown":
        return hypervisor_client.ask_later(work)
    if disk.used > MOST_UNPACKED:
        raise Failed(f"The disk holds {disk.used} MB, and an image can hold at most {MOST_UNPACKED} MB.")
    work.then(lambda ctx: _put_on(ctx, image, instance.host))
    return None


@step(weight=85)
def copy_disk(work: StepContext) -> Sleep | None:
    image, instance = _current(work), hypervisor_client.current(work)
    ref, source = _ref(image), FromDisk(hypervisor_client.disk_ref(instance, work.args.disk_id))
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_image(ref, source, order)])


@step(weight=5)
def choose_host_in_region(work: StepContext) -> Sleep | None:
    image = _current(work)
    assert image.region is not None
    host = hypervisor_client.place(work, image.region, image.id, _IN_REGION)
    if isinstance(host, Sleep):
        return host
    work.then(lambda ctx: _put_on(ctx, image, host))
    return None


@step(weight=80)
def copy_file(work: StepContext) -> Sleep | None:
    ref = _ref(_current(work))
    file = work.runtime.uploads.file(str(ref.id))
    source = FromUpload(str(file), work.args.size, work.args.digest)
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_image(ref, source, order)])


@step(weight=5)
def discard_file(work: StepContext) -> Sleep | None:
    """Discard the uploaded file: the host has a copy."""
    work.runtime.uploads.discard(str(work.args.image_id))
    return None


@tx_step(weight=10)
def publish(ctx: Context, work: StepContext) -> Sleep | None:
    if not images.change(ctx, work.args.image_id, status="available", updated=ctx.moment):
        raise Failed(GONE)
    return None


def unmade(ctx: Context, work: StepContext, _reason: str) -> None:
    """An image that could not be made is not there."""
    image = images.find_unscoped(ctx, work.args.image_id)
    if image is not None:
        forget(ctx, image)
        enqueue(ctx, PURGE, PurgeArgs(images=[(image.host, image.id)]))


def forget(ctx: Context, image: Image) -> None:
    """Remove the image's row and the grants on it."""
    access.forget(ctx, images.KIND, image.id)
    ctx.db.delete(images.image, id=image.id)


@step(retries=50)
def erase_image(work: StepContext) -> Sleep | None:
    work.runtime.uploads.discard(str(work.args.image_id))
    if work.args.host is None:
        return None
    return hypervisor_client.remove(work, [ImageRef(work.args.host, work.args.image_id)])


def purge_later(ctx: Context, work: StepContext, _reason: str) -> None:
    enqueue(ctx, PURGE, PurgeArgs(images=[(work.args.host, work.args.image_id)]))


@tx_step()
def expire(ctx: Context, work: StepContext) -> Sleep | None:
    """An upload that never came."""
    image = images.find_unscoped(ctx, work.args.image_id)
    if image is not None and image.status == "pending_upload":
        end_waiting(ctx, image, EXPIRED)
        forget(ctx, image)
    return None


def end_waiting(ctx: Context, image: Image, reason: str) -> None:
    """End the event of an upload that will not arrive."""
    if image.account_id is not None and image.event_id is not None:
        events.failed(ctx.db, ctx.now, image.account_id, image.event_id, reason)


CAPTURE = states.Job(
    operation=Operation(kind="disk_imagize", args=CaptureArgs, steps=(choose_host, copy_disk, publish), failed=unmade),
    action="disk_imagize",
)
UPLOAD = Job(
    operation=Operation(
        kind="image_upload",
        args=UploadArgs,
        steps=(choose_host_in_region, copy_file, discard_file, publish),
        failed=unmade,
    ),
    action="image_upload",
    accepts=("pending_upload",),
    during="creating",
)
DELETE = Job(
    operation=Operation(kind="image_delete", args=RemoveArgs, steps=(erase_image,), failed=purge_later),
    action="image_delete",
    accepts=images.STATUSES,
    interrupts=True,
)
EXPIRE = Operation(kind="image_expire", args=ExpireArgs, steps=(expire,), keep=False)

JOBS = (CAPTURE,)
"""Jobs of instances."""
IMAGE_JOBS = (UPLOAD, DELETE)
OPERATIONS = (*(job.operation for job in IMAGE_JOBS), EXPIRE)
