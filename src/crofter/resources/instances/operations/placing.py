"""Giving an instance a host."""

from __future__ import annotations

from crofter.context import Context
from crofter.engine import Sleep, StepContext, step
from crofter.resources.instances import hypervisor_client, specs, store


@step(weight=5)
def place(work: StepContext) -> Sleep | None:
    """Choose a host, and write it down before anything is put there."""
    instance = hypervisor_client.current(work)
    if instance.host is not None:
        return None
    found = hypervisor_client.place(work, instance.region, instance.id, specs.bare(instance))
    if isinstance(found, Sleep):
        return found
    work.then(lambda ctx: placed(ctx, instance.id, found))
    return None


def placed(ctx: Context, instance_id: int, host: int) -> None:
    ctx.db.update(store.instance, {"id": instance_id}, host=host)
