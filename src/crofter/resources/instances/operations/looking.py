"""Where an instance ended up is looked at, never assumed."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context
from crofter.drivers.hypervisor import ObservedDomain
from crofter.engine import Operation, Sleep, Work, enqueue, step
from crofter.resources.instances import hands, states
from crofter.resources.instances.shapes import Status


class Args(Struct, frozen=True):
    """The instance, for jobs that need no more than that."""

    instance_id: int


def status(seen: ObservedDomain) -> Status:
    if seen.power == "on":
        return "running"
    return "stopped" if seen.reason == "host" or seen.maintenance else "offline"


@step(weight=1)
def look(work: Work) -> Sleep | None:
    """Show the status that the hypervisor tells of."""
    with work.read() as ctx:
        instance = hands.exists(ctx, work.args.instance_id)
    if instance is None or instance.status == "deleting":
        return None
    if instance.host is None:
        work.then(lambda ctx: states.show(ctx, work.args.instance_id, "offline"))
        return None
    seen = hands.hypervisor(work.world).observe(hands.domain(instance))
    if seen.power == "unknown":
        return Sleep(hands.ASK_AGAIN)
    work.then(lambda ctx: states.show(ctx, work.args.instance_id, status(seen)))
    return None


LOOK = Operation(kind="compute_look", args=Args, steps=(look,), keep=False)


def look_again(ctx: Context, work: Work, _reason: str) -> None:
    """The hook of every job that failed or was cancelled: nobody knows how far it came, so somebody looks."""
    enqueue(ctx, LOOK, Args(work.args.instance_id), key=states.key(work.args.instance_id))
