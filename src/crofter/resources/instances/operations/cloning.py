"""Copying an instance's disks and profiles onto another."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context
from crofter.engine import Operation, Sleep, StepContext, tx_step
from crofter.resources.instances import hypervisor_client, states
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.layout import DiskPlan
from crofter.resources.instances.operations import purging
from crofter.resources.instances.operations.deploy import define_if_new, make_disks
from crofter.resources.instances.operations.looking import look, look_again
from crofter.resources.instances.operations.placing import place
from crofter.resources.instances.states import Job


class CloneArgs(Struct, frozen=True):
    instance_id: int
    """The instance that is copied onto."""
    disks: list[DiskPlan]
    configs: list[int]
    """Profiles that were made for it."""


@tx_step(weight=1)
def begin(ctx: Context, work: StepContext) -> Sleep | None:
    states.show(ctx, work.args.instance_id, "cloning")
    return None


def unmade(ctx: Context, work: StepContext, reason: str) -> None:
    """What could not be copied is not there; the rest of the target is as it was."""
    instance = hypervisor_client.exists(ctx, work.args.instance_id)
    if instance is None:
        return
    for config_id in work.args.configs:
        ctx.db.delete(configs.config, id=config_id)
    purging.forget_disks(ctx, instance, [plan.disk_id for plan in work.args.disks])
    look_again(ctx, work, reason)


CLONE = Job(
    operation=Operation(
        kind="compute_clone",
        args=CloneArgs,
        steps=(begin, place, make_disks, define_if_new, look),
        failed=unmade,
    ),
    action="compute_clone",
    accepts=("offline",),
    later=("cloning",),
)

JOBS = (CLONE,)
