"""Where an instance ended up is looked at, never assumed."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import DiskRef, ObservedDisk, ObservedDomain
from crofter.engine import Operation, Sleep, StepContext, follow_up, step
from crofter.resources.instances import hypervisor_client, purging, states, store
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.shapes import Status
from crofter.resources.instances.store import Instance


class Args(Struct, frozen=True):
    """The instance, for jobs that need no more than that."""

    instance_id: int


def status(seen: ObservedDomain) -> Status:
    """A host in maintenance stops what was on and what was off."""
    if seen.power == "on":
        return "running"
    return "stopped" if seen.maintenance or seen.resumes else "offline"


@step(weight=1)
def locate(work: StepContext) -> Sleep | None:
    """A move that broke off may have left the machine on either host."""
    instance = hypervisor_client.current_or_none(work)
    if instance is None or instance.host is None:
        return None
    seen = hypervisor_client.hypervisor(work.runtime).observe(hypervisor_client.domain_ref(instance))
    if seen.power == "unknown":
        return hypervisor_client.ask_later(work)
    if seen.ref.host != instance.host:
        work.then(lambda ctx: _found(ctx, instance.id, seen.ref.host))
    return None


def _found(ctx: Context, instance_id: int, host: int) -> None:
    ctx.db.update(store.instance, {"id": instance_id}, host=host)


@step(weight=1)
def look(work: StepContext) -> Sleep | None:
    """Update the status from the hypervisor."""
    instance = hypervisor_client.current_or_none(work)
    if instance is None or instance.status == "deleting":
        return None
    if instance.host is None:
        work.then(lambda ctx: states.show(ctx, work.args.instance_id, "offline"))
        return None
    seen = hypervisor_client.hypervisor(work.runtime).observe(hypervisor_client.domain_ref(instance))
    if seen.power == "unknown":
        return hypervisor_client.ask_later(work)
    work.then(lambda ctx: states.show(ctx, work.args.instance_id, status(seen)))
    return None


@step(weight=1)
def look_at_disks(work: StepContext) -> Sleep | None:
    """The disks of an instance are those that are there, and as large as they are there."""
    with work.read() as ctx:
        instance = store.find_unscoped(ctx, work.args.instance_id)
        own = disks.of(ctx, work.args.instance_id)
    if instance is None or not own:
        return None
    host = instance.host
    if host is None:
        work.then(lambda ctx: purging.forget_disks(ctx, instance, [disk.id for disk in own]))
        return None
    driver = hypervisor_client.hypervisor(work.runtime)
    seen = {disk.id: driver.observe(DiskRef(host, disk.id)) for disk in own}
    if any(disk.presence == "unknown" for disk in seen.values()):
        return hypervisor_client.ask_later(work)
    work.then(lambda ctx: _as_seen(ctx, instance, own, seen))
    return None


def _as_seen(ctx: Context, instance: Instance, own: list[Disk], seen: dict[int, ObservedDisk]) -> None:
    # No work is in progress: a disk that is absent now will never be ready.
    lost = [disk for disk in own if seen[disk.id].presence == "absent"]
    unmade = [disk for disk in own if disk.status != "ready" and seen[disk.id].presence in ("making", "leaving")]
    purging.forget_disks(ctx, instance, [disk.id for disk in (*lost, *unmade)])
    for disk in own:
        size = seen[disk.id].size
        if seen[disk.id].presence == "ready" and (disk.status, disk.size, disk.reserved) != ("ready", size, size):
            ctx.db.update(disks.disk, {"id": disk.id}, size=size, reserved=size, status="ready", updated=ctx.moment)


LOOK = Operation(kind="compute_look", args=Args, steps=(locate, look, look_at_disks), keep=False)


def look_again(ctx: Context, work: StepContext, _reason: str) -> None:
    """Queue an inspection after a failed or cancelled job: its progress is unknown."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    if instance is not None and instance.status != "deleting":
        # Internal work without a job: it waits behind work that was queued meanwhile.
        follow_up(ctx, work, LOOK, Args(instance.id), key=states.key(instance.id))
