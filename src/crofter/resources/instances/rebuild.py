"""Rebuild: everything on an instance goes, and an image is deployed in its place."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from crofter.context import Context
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.errors import Reason
from crofter.kinds import Entity
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances import hypervisor_client, neighbours, root_disk, states, store, views
from crofter.resources.instances.create import operations as deploying
from crofter.resources.instances.create.operations import SWAP, define_first, make_disks, seed_root
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.looking import look, look_again
from crofter.resources.instances.power.operations import boot_with, place, power_off
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import InstanceView, Rebuild
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.stackscripts import store as stackscripts


class RebuildArgs(Struct, frozen=True):
    instance_id: int
    image: str
    seed: str | None
    booted: bool
    stackscript_id: int | None = None


def rebuild(ctx: Context, instance: Instance, body: Rebuild) -> InstanceView:
    image = images.offered(ctx, body.image)
    refuse(body, [*_about_image(instance, body, image), *root_disk.complaints(ctx, body, image)])
    assert image is not None
    states.must_be_idle(ctx, instance)
    seed = root_disk.seed(ctx, instance.id, 0, body)
    args = RebuildArgs(instance.id, image.slug, seed, body.booted, body.stackscript_id)
    secondary = Entity("image", image.slug, image.label, f"/v4/images/{image.slug}")
    states.start_job(ctx, REBUILD, instance, args, secondary=secondary)
    return views.view_now(ctx, instance.id)


def _about_image(instance: Instance, body: Rebuild, image: Image | None) -> Iterator[Reason]:
    if not body.image:
        yield Reason("You must specify an image")
    elif image is None or image.status != "available":
        yield Reason("image is not valid", "image")
    elif image.size + SWAP > instance.disk:
        yield Reason("Insufficient space: the plan cannot hold the image", "image")
    if image is None and body.root_pass is None and body.stackscript_id is None:
        yield Reason("root_pass is required", "root_pass")


# ---- the operation --------------------------------------------------------------------------------------------------


@step(weight=10)
def erase(work: StepContext) -> Sleep | None:
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        old = [hypervisor_client.disk_ref(instance, disk) for disk in disks.of(ctx, instance.id)]
        if images.find(ctx, work.args.image) is None:
            raise Failed("The image is gone.")  # while there still is something to lose
    return hypervisor_client.remove(work, old)


@tx_step(weight=5)
def plan(ctx: Context, work: StepContext) -> Sleep | None:
    """The old disks and profiles are forgotten, and the new ones written down before they are made."""
    instance = store.get_unscoped(ctx, work.args.instance_id)
    image = images.find(ctx, work.args.image)
    if image is None:
        raise Failed("The image is gone.")
    deploying.clear(ctx, instance)
    planned = deploying.from_image(ctx, instance, image)
    neighbours.redeployed(ctx, instance, planned.config_id)
    stackscripts.count_active(ctx, store.script_of(ctx, instance.id), work.args.stackscript_id)
    ctx.db.update(
        store.instance,
        {"id": instance.id},
        image=image.slug,
        stackscript_id=work.args.stackscript_id,
        updated=ctx.moment,
    )
    work.vars["disks"] = msgspec.to_builtins(planned.disks)
    work.vars["root_id"] = planned.root_id
    work.vars["config_id"] = planned.config_id
    return None


@step(weight=20)
def boot_inside(work: StepContext) -> Sleep | None:
    """Booting is part of the rebuild and has no event of its own."""
    return boot_with(work, int(work.vars["config_id"])) if work.args.booted else None


REBUILD = Job(
    operation=Operation(
        kind="compute_rebuild",
        args=RebuildArgs,
        steps=(place, power_off, erase, plan, make_disks, seed_root, define_first, boot_inside, look),
        failed=look_again,
        erased=("seed",),
    ),
    action="compute_rebuild",
    during="rebuilding",
)

JOBS = (REBUILD,)
