"""When an instance may be turned on and off, and with which profile."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.errors import Invalid
from crofter.resources.instances import states
from crofter.resources.instances.configs import devices
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import SLOTS, Config
from crofter.resources.instances.looking import Args
from crofter.resources.instances.power import operations
from crofter.resources.instances.power.operations import BootArgs, RescueArgs
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import (
    Rescue,
)
from crofter.resources.instances.store import Instance


def boot(ctx: Context, instance: Instance, config_id: int | None) -> None:
    config = _startable(ctx, instance, config_id, operations.BOOT.behind)
    if instance.status == "running":
        raise Invalid("Compute is already booted.")
    states.start_job(ctx, operations.BOOT, instance, BootArgs(instance.id, config.id), secondary=configs.entity(config))


def reboot(ctx: Context, instance: Instance, config_id: int | None) -> None:
    """An instance that is off is booted."""
    config = _startable(ctx, instance, config_id)
    job = operations.REBOOT if instance.status == "running" else operations.BOOT
    args = BootArgs(instance.id, config.id)
    states.start_job(ctx, job, instance, args, secondary=configs.entity(config))


def shutdown(ctx: Context, instance: Instance) -> None:
    """Shut down. For an instance that is off the job has no work."""
    states.must_be_idle(ctx, instance)
    if instance.status == "offline":
        states.finish_at_once(ctx, operations.SHUTDOWN, instance)
    else:
        states.start_job(ctx, operations.SHUTDOWN, instance, Args(instance.id))


def _startable(ctx: Context, instance: Instance, config_id: int | None, behind: tuple[str, ...] = ()) -> Config:
    """Return the profile to boot. A busy instance is reported before a missing profile."""
    known = configs.of(ctx, instance.id)
    if config_id is not None and all(config_id != config.id for config in known):
        raise Invalid("config_id is not valid", field="config_id")
    states.must_be_idle(ctx, instance, behind=behind)
    return bootable(instance, known, config_id)


def bootable(instance: Instance, profiles: Sequence[Config], config_id: int | None = None) -> Config:
    """Return the requested profile; otherwise the last booted one; otherwise the only one."""
    known = {config.id: config for config in profiles}
    if config_id is not None:
        chosen = known[config_id]
    elif instance.booted_config in known:
        chosen = known[instance.booted_config]
    elif len(known) == 1:
        (chosen,) = known.values()
    elif not known:
        raise Invalid("This Compute has no configuration profile. Create one first.", field="config_id")
    else:
        raise Invalid("Multiple configuration profiles are present. Specify config_id.", field="config_id")
    if not chosen.devices:
        raise Invalid("The configuration profile has no devices to boot from.", field="config_id")
    return chosen


def rescue(ctx: Context, instance: Instance, body: Rescue) -> None:
    refuse(body, devices.complaints(ctx, instance, body.devices, SLOTS[:-1]))
    states.must_be_idle(ctx, instance)
    args = RescueArgs(instance.id, devices.kept(body.devices))
    states.start_job(ctx, operations.RESCUE[instance.status], instance, args)
