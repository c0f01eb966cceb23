"""Finding a host for an instance, and turning it on and off there."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from crofter.context import Context
from crofter.drivers.hypervisor import DomainSpec
from crofter.engine import Failed, Operation, Sleep, StepContext, step, tx_step
from crofter.resources.instances import costs, hypervisor_client, neighbours, specs, store
from crofter.resources.instances.configs import networks
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.looking import Args, look, look_again
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance

SHUTDOWN_GRACE = 120
"""Seconds of service time a guest has to shut down before its power is taken away."""


class BootArgs(Struct, frozen=True):
    instance_id: int
    config_id: int


class RescueArgs(Struct, frozen=True):
    instance_id: int
    devices: dict[str, dict[str, int]] = {}


# shared steps


def switch_off(work: StepContext) -> Sleep | None:
    instance = hypervisor_client.current(work)
    if instance.host is None:
        return None
    driver = hypervisor_client.hypervisor(work.runtime)
    if driver.observe(hypervisor_client.domain_ref(instance)).power == "absent":
        return None
    return hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_off(hypervisor_client.domain_ref(instance), order, grace=SHUTDOWN_GRACE)]
    )


def define_as(work: StepContext, config_id: int | None) -> Sleep | None:
    """Define the machine with a profile; without one, with the plan's values only."""
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        wanted = specs.bare(instance)
        if config_id is not None:
            wanted = specs.spec(ctx, instance, _profile(ctx, instance, config_id))
    return defined(work, instance, wanted)


def _profile(ctx: Context, instance: Instance, config_id: int) -> configs.Config:
    for config in configs.of(ctx, instance.id):
        if config.id == config_id:
            return config
    raise Failed("The configuration profile is gone.")


def defined(work: StepContext, instance: Instance, wanted: DomainSpec) -> Sleep | None:
    """The machine is known to its host, with its addresses and its filter."""
    driver = hypervisor_client.hypervisor(work.runtime)
    ref = hypervisor_client.domain_ref(instance)
    return hypervisor_client.carry_out(
        work,
        [
            lambda order: driver.ensure_domain(ref, wanted, order),
            hypervisor_client.apply_network(work, instance),
        ],
    )


def switch_on(work: StepContext, config_id: int | None = None) -> Sleep | None:
    """On, with what it was defined as; which profile that was is remembered for the next time."""
    instance = hypervisor_client.current(work)
    driver = hypervisor_client.hypervisor(work.runtime)
    waiting = hypervisor_client.carry_out(
        work, [lambda order: driver.ensure_running(hypervisor_client.domain_ref(instance), order)]
    )
    if waiting is None and config_id is not None:
        work.then(lambda ctx: _booted(ctx, instance.id, config_id))
    return waiting


def _booted(ctx: Context, instance_id: int, config_id: int) -> None:
    instance = store.get_unscoped(ctx, instance_id)
    if instance.booted_config == config_id:
        return
    known = {config.id: config for config in configs.of(ctx, instance_id)}
    if config_id in known:
        before = known.get(instance.booted_config or 0)
        networks.tell_of_networks(ctx, instance, before, known[config_id])
    ctx.db.update(store.instance, {"id": instance_id}, booted_config=config_id)


def boot_with(work: StepContext, config_id: int) -> Sleep | None:
    """The whole of it, for operations of which booting is only a part."""
    return define_as(work, config_id) or switch_on(work, config_id)


# ---- steps ----------------------------------------------------------------------------------------------------------


@step(weight=5)
def place(work: StepContext) -> Sleep | None:
    """Choose a host, and write it down before anything is put there."""
    instance = hypervisor_client.current(work)
    if instance.host is not None:
        return None
    host = hypervisor_client.place(work, instance.region, instance.id, specs.bare(instance))
    if isinstance(host, Sleep):
        return host
    new = instance.status == "provisioning"  # its costs began with it
    work.then(lambda ctx: placed(ctx, instance.id, host) if new else _placed_again(ctx, instance.id, host))
    return None


def placed(ctx: Context, instance_id: int, host: int) -> None:
    ctx.db.update(store.instance, {"id": instance_id}, host=host)


def _placed_again(ctx: Context, instance_id: int, host: int) -> None:
    """The instance may have lost its host, and has not been billed since."""
    placed(ctx, instance_id, host)
    public = sum(held.public for held in ips.of(ctx, instance_id))
    costs.restart(ctx, store.get_unscoped(ctx, instance_id), public)


@step(weight=30)
def power_off(work: StepContext) -> Sleep | None:
    return switch_off(work)


@tx_step(weight=1)
def take_volumes(ctx: Context, work: StepContext) -> Sleep | None:
    """Written down before the machine has them: no other instance gets a volume that this one boots with."""
    take_volumes_for(ctx, work.args.instance_id, work.args.config_id)
    return None


def take_volumes_for(ctx: Context, instance_id: int, config_id: int) -> None:
    instance = store.get_unscoped(ctx, instance_id)
    neighbours.booting(ctx, instance, _profile(ctx, instance, config_id).devices)


@tx_step(weight=1)
def take_volumes_to_rescue(ctx: Context, work: StepContext) -> Sleep | None:
    neighbours.booting(ctx, store.get_unscoped(ctx, work.args.instance_id), work.args.devices)
    return None


@step(weight=10)
def define(work: StepContext) -> Sleep | None:
    return define_as(work, work.args.config_id)


@step(weight=60)
def power_on(work: StepContext) -> Sleep | None:
    return switch_on(work, work.args.config_id)


@step(weight=10)
def define_rescue(work: StepContext) -> Sleep | None:
    """Boot the rescue system with the disks attached."""
    instance = hypervisor_client.current(work)
    return defined(work, instance, replace(specs.bare(instance), devices=specs.devices(work.args.devices), rescue=True))


@step(weight=60)
def power_on_rescue(work: StepContext) -> Sleep | None:
    return switch_on(work)


# ---- jobs -----------------------------------------------------------------------------------------------------------


def _boot(kind: str, *after: str, behind: tuple[str, ...] = ()) -> Job:
    """Return a boot job. Its name shows whether the owner or the watchdog requested the boot."""
    operation = Operation(
        kind=kind, args=BootArgs, steps=(place, take_volumes, define, power_on, look), failed=look_again
    )
    return Job(operation=operation, action=kind, accepts=("offline",), after=after, behind=behind, during="booting")


def _reboot(kind: str, *after: str) -> Job:
    operation = Operation(
        kind=kind, args=BootArgs, steps=(power_off, take_volumes, define, power_on, look), failed=look_again
    )
    return Job(operation=operation, action=kind, accepts=("running",), after=after, during="rebooting")


BOOT = _boot("compute_boot", "compute_create", behind=("password_reset",))
WATCHDOG_BOOT = _boot("lassie_reboot", "compute_watch")
REBOOT = _reboot("compute_reboot")
HOST_REBOOT = _reboot("host_reboot", "maintenance")
SHUTDOWN = Job(
    operation=Operation(kind="compute_shutdown", args=Args, steps=(power_off, look), failed=look_again),
    action="compute_shutdown",
    accepts=("running", "offline"),
    during={"running": "shutting_down"},
)

RESCUE = {
    "running": Job(
        operation=Operation(
            kind="rescue_reboot",
            args=RescueArgs,
            steps=(power_off, take_volumes_to_rescue, define_rescue, power_on_rescue, look),
            failed=look_again,
        ),
        action="compute_reboot",
        accepts=("running",),
        during="rebooting",
    ),
    "offline": Job(
        operation=Operation(
            kind="rescue_boot",
            args=RescueArgs,
            steps=(place, take_volumes_to_rescue, define_rescue, power_on_rescue, look),
            failed=look_again,
        ),
        action="compute_boot",
        accepts=("offline",),
        during="booting",
    ),
}
"""Jobs by the state of the instance."""

JOBS = (BOOT, WATCHDOG_BOOT, HOST_REBOOT, REBOOT, SHUTDOWN, *RESCUE.values())
