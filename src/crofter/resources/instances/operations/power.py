"""Boot, shut down, reboot."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from crofter.context import Context
from crofter.engine import Failed, Operation, Sleep, Work, step
from crofter.resources.instances import hands, specs, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.operations.looking import Args, look, look_again
from crofter.resources.instances.states import Job

SHUTDOWN_GRACE = 120
"""Seconds of house time a guest has to shut down before its power is taken away."""


class BootArgs(Struct, frozen=True):
    instance_id: int
    config_id: int


class RescueArgs(Struct, frozen=True):
    instance_id: int
    devices: dict[str, dict[str, int]] = {}


@step(weight=30)
def power_off(work: Work) -> Sleep | None:
    instance = hands.current(work)
    driver = hands.hypervisor(work.world)
    return hands.carry_out(work, [lambda order: driver.ensure_off(hands.domain(instance), order, grace=SHUTDOWN_GRACE)])


@step(weight=10)
def define(work: Work) -> Sleep | None:
    """Tell the hypervisor what to boot with."""
    with work.read() as ctx:
        instance = store.again(ctx, work.args.instance_id)
        config = configs.find(ctx, instance.id, work.args.config_id)
        if config is None:
            raise Failed("The configuration profile is gone.")
        wanted = specs.spec(ctx, instance, config)
        network = hands.wiring(ctx, instance)
    driver = hands.hypervisor(work.world)
    ref = hands.domain(instance)
    return hands.carry_out(
        work,
        [
            lambda order: driver.ensure_domain(ref, wanted, order),
            hands.wire(work.world, instance, network),
        ],
    )


@step(weight=60)
def power_on(work: Work) -> Sleep | None:
    instance = hands.current(work)
    driver = hands.hypervisor(work.world)
    waiting = hands.carry_out(work, [lambda order: driver.ensure_running(hands.domain(instance), order)])
    if waiting is None:
        work.then(lambda ctx: _booted(ctx, work))
    return waiting


def _booted(ctx: Context, work: Work) -> None:
    ctx.db.update(store.instance, {"id": work.args.instance_id}, booted_config=work.args.config_id)


@step(weight=10)
def define_rescue(work: Work) -> Sleep | None:
    """The rescue system boots, with the disks beside it."""
    instance = hands.current(work)
    wanted = replace(specs.bare(instance), devices=specs.devices(work.args.devices), rescue=True)
    driver = hands.hypervisor(work.world)
    return hands.carry_out(work, [lambda order: driver.ensure_domain(hands.domain(instance), wanted, order)])


@step(weight=60)
def power_on_rescue(work: Work) -> Sleep | None:
    instance = hands.current(work)
    driver = hands.hypervisor(work.world)
    return hands.carry_out(work, [lambda order: driver.ensure_running(hands.domain(instance), order)])


def boot_operation(kind: str) -> Operation:
    """Booting is one thing; whether the owner, the watchdog or the host asked for it is told by its name."""
    return Operation(kind=kind, args=BootArgs, steps=(define, power_on, look), failed=look_again)


BOOT = Job(operation=boot_operation("compute_boot"), action="compute_boot", accepts=("offline",), during="booting")
WATCHDOG_BOOT = Job(
    operation=boot_operation("lassie_reboot"), action="lassie_reboot", accepts=("offline",), during="booting"
)
HOST_REBOOT = Job(
    operation=Operation(
        kind="host_reboot", args=BootArgs, steps=(power_off, define, power_on, look), failed=look_again
    ),
    action="host_reboot",
    accepts=("running",),
    during="rebooting",
)
REBOOT = Job(
    operation=Operation(
        kind="compute_reboot", args=BootArgs, steps=(power_off, define, power_on, look), failed=look_again
    ),
    action="compute_reboot",
    accepts=("running",),
    during="rebooting",
)
SHUTDOWN = Job(
    operation=Operation(kind="compute_shutdown", args=Args, steps=(power_off, look), failed=look_again),
    action="compute_shutdown",
    accepts=("running", "offline"),
    during="shutting_down",
)

RESCUE = {
    "running": Job(
        operation=Operation(
            kind="rescue_reboot",
            args=RescueArgs,
            steps=(power_off, define_rescue, power_on_rescue, look),
            failed=look_again,
        ),
        action="compute_reboot",
        during="rebooting",
    ),
    "offline": Job(
        operation=Operation(
            kind="rescue_boot", args=RescueArgs, steps=(define_rescue, power_on_rescue, look), failed=look_again
        ),
        action="compute_boot",
        during="booting",
    ),
}
"""By what the instance is when rescue is asked for."""

JOBS = (BOOT, WATCHDOG_BOOT, HOST_REBOOT, REBOOT, SHUTDOWN, *RESCUE.values())
