"""Giving an instance a host."""

from __future__ import annotations

from crofter.context import Context
from crofter.engine import Sleep, Work, step
from crofter.resources.instances import hands, specs, store


@step(weight=5)
def place(work: Work) -> Sleep | None:
    """Choose a host, and write it down before anything is put there."""
    instance = hands.current(work)
    if instance.host is not None:
        return None
    found = hands.place(work, instance.region, instance.id, specs.bare(instance))
    if isinstance(found, Sleep):
        return found
    work.then(lambda ctx: placed(ctx, instance.id, found))
    return None


def placed(ctx: Context, instance_id: int, host: int) -> None:
    ctx.db.update(store.instance, {"id": instance_id}, host=host)
