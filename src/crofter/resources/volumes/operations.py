"""Operations on volumes: create, copy, resize and erase."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from crofter import clock
from crofter.context import Context
from crofter.drivers.hypervisor import Empty, FromVolume, VolumeRef
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, follow_up, step, tx_step
from crofter.jobs import Job, Subject
from crofter.resources.billing import meters, prices
from crofter.resources.instances import hypervisor_client, states
from crofter.resources.instances import store as instances
from crofter.resources.instances.configs import store as configs
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.resources.volumes import attaching, store
from crofter.resources.volumes.attaching import ATTACH, AttachArgs
from crofter.resources.volumes.store import Volume

BUSY = "Volume busy."
VOLUMES: Subject[Volume] = Subject(store.KIND, entity=store.entity, show=store.show, busy=BUSY)
TRIES = 20
PAUSE = 10 * clock.MINUTE
"""After the first time; then twice as long, and so on up to a day."""


class CreateArgs(Struct, frozen=True):
    volume_id: int
    instance_id: int | None = None
    """Instance to attach afterwards."""
    config_id: int | None = None
    named: bool = True
    """False if the server chose the profile."""


class CloneArgs(Struct, frozen=True):
    volume_id: int
    """The new volume."""
    source_id: int


class ResizeArgs(Struct, frozen=True):
    volume_id: int
    size: int


class LookArgs(Struct, frozen=True):
    volume_id: int


class EraseArgs(Struct, frozen=True):
    """Arguments by name: the row no longer exists."""

    region: str
    volume_id: int
    tried: int = 0


def _current(work: StepContext, volume_id: int) -> Volume:
    with work.read() as ctx:
        volume = store.find_unscoped(ctx, volume_id)
    if volume is None:
        raise Failed("The volume is gone.")
    return volume


# ---- making and copying ---------------------------------------------------------------------------------------------


@step(weight=90)
def make(work: StepContext) -> Sleep | None:
    volume = _current(work, work.args.volume_id)
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_volume(volume.ref, volume.size, Empty(), order)]
    )


@tx_step(weight=10)
def hand_over(ctx: Context, work: StepContext) -> Sleep | None:
    """Set the volume active, and queue its attachment if requested."""
    store.show(ctx, work.args.volume_id, "active")
    volume = store.find_unscoped(ctx, work.args.volume_id)
    if volume is None or work.args.instance_id is None or volume.instance_id != work.args.instance_id:
        return None
    instance = instances.get_unscoped(ctx, work.args.instance_id)
    if instance.status == "deleting":
        return None  # detached by the deletion
    args = AttachArgs(instance.id, volume.id, work.args.config_id, named=work.args.named)
    secondary, about = instances.entity(instance), store.entity(volume)
    states.start_job(ctx, ATTACH, instance, args, secondary=secondary, entity=about, after=work.operation)
    return None


@step(weight=90)
def copy(work: StepContext) -> Sleep | None:
    source, volume = _current(work, work.args.source_id), _current(work, work.args.volume_id)
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_volume(volume.ref, volume.size, FromVolume(source.ref), order)]
    )


@tx_step(weight=10)
def copied(ctx: Context, work: StepContext) -> Sleep | None:
    store.show(ctx, work.args.volume_id, "active")
    return None


def unmade(ctx: Context, work: StepContext, _reason: str) -> None:
    """A volume that could not be made is not there."""
    volume = store.find_unscoped(ctx, work.args.volume_id)
    if volume is not None:
        remove(ctx, volume)


# ---- growing --------------------------------------------------------------------------------------------------------


@step(weight=90)
def grow(work: StepContext) -> Sleep | None:
    volume = _current(work, work.args.volume_id)
    driver = hypervisor_client.hypervisor(work.runtime)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_grown(volume.ref, work.args.size, order)])


@tx_step(weight=10)
def grown(ctx: Context, work: StepContext) -> Sleep | None:
    """Bill the new size."""
    volume = store.find_unscoped(ctx, work.args.volume_id)
    if volume is not None:
        _has(ctx, volume, work.args.size)
    return None


def _has(ctx: Context, volume: Volume, size: int) -> None:
    store.change(ctx, volume.id, size=size, status="active")
    if size != volume.size:
        prices.resize_volume(ctx, volume.id, volume.label, size)


def _cost(ctx: Context, args: ResizeArgs) -> tuple[int, int]:
    price = prices.VOLUME.times(args.size)
    running = meters.running(ctx.db, prices.VOLUMES, args.volume_id)
    return sum(price.hourly - meter.hourly for meter in running), sum(
        price.monthly - meter.monthly for meter in running
    )


@step(weight=1)
def look(work: StepContext) -> Sleep | None:
    """A volume is what the storage says that it is."""
    with work.read() as ctx:
        volume = store.find_unscoped(ctx, work.args.volume_id)
    if volume is None:
        return None
    seen = hypervisor_client.hypervisor(work.runtime).observe(volume.ref)
    if seen.presence == "unknown" or seen.busy:
        return hypervisor_client.ask_later(work)
    if seen.presence == "ready":
        work.then(lambda ctx: _has(ctx, volume, seen.size))
    else:
        work.then(lambda ctx: store.show(ctx, volume.id, "contact_support"))
    return None


LOOK = Operation(kind="volume_look", args=LookArgs, steps=(look,), keep=False)


def look_again(ctx: Context, work: StepContext, _reason: str) -> None:
    follow_up(ctx, work, LOOK, LookArgs(work.args.volume_id), key=VOLUMES.key(work.args.volume_id))


# ---- erasing --------------------------------------------------------------------------------------------------------


@step(weight=100, retries=50)
def erase(work: StepContext) -> Sleep | None:
    driver, ref = hypervisor_client.hypervisor(work.runtime), VolumeRef(work.args.region, work.args.volume_id)
    return hypervisor_client.carry_out(work, [lambda order: driver.ensure_gone(ref, order)])


def erase_again(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry the erasure at growing intervals: the owner has deleted the volume."""
    tried = work.args.tried
    if tried < TRIES:
        due = ctx.now if tried == 0 else ctx.now + min(clock.DAY, PAUSE * 2 ** (tried - 1))
        args = replace(work.args, tried=tried + 1)
        enqueue(ctx, PURGE, args, key=VOLUMES.key(args.volume_id), due=due)


PURGE = Operation(kind="volume_purge", args=EraseArgs, steps=(erase,), failed=erase_again, keep=False)


def remove(ctx: Context, volume: Volume) -> None:
    """Delete the volume for its owner now, and from the storage as soon as possible, without an event."""
    forget(ctx, volume)
    ctx.db.delete(store.volume, id=volume.id)
    enqueue(ctx, PURGE, EraseArgs(volume.region, volume.id), key=VOLUMES.key(volume.id))


def forget(ctx: Context, volume: Volume) -> None:
    """Slots are empty, tags and grants come off, and it costs nothing any more."""
    attaching.empty_slots(ctx, configs.naming_volume(ctx, volume.id), volume.id)
    tags.detach(ctx, store.KIND, volume.id)
    access.forget(ctx, store.KIND, volume.id)
    prices.end_volume(ctx, volume.id)


CREATE = Job(
    operation=Operation(kind="volume_create", args=CreateArgs, steps=(make, hand_over), failed=unmade),
    action="volume_create",
    accepts=(),
    creates=True,
    during="creating",
)
CLONE = Job(
    operation=Operation(kind="volume_clone", args=CloneArgs, steps=(copy, copied), failed=unmade),
    action="volume_clone",
    accepts=("active",),
    notifies=True,
)
"""A job of the volume that is copied, which must not go meanwhile; the copy shows that it is being made."""
RESIZE = Job(
    operation=Operation(kind="volume_resize", args=ResizeArgs, steps=(grow, grown), failed=look_again, cost=_cost),
    action="volume_resize",
    accepts=("active",),
    during="resizing",
    notifies=True,
)
DELETE = Job(
    operation=Operation(kind="volume_delete", args=EraseArgs, steps=(erase,), failed=erase_again),
    action="volume_delete",
    accepts=("active", "contact_support"),
)

JOBS: tuple[Job, ...] = (CREATE, CLONE, RESIZE, DELETE, *attaching.JOBS)
OPERATIONS = (LOOK, PURGE, attaching.DROP, *(job.operation for job in JOBS))
