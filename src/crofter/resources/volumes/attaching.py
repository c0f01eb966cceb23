"""Attaching of volumes to instances, and detaching.

Both are jobs of the instance and use its key, so that they never overlap with a boot, a move, a rebuild or each other.
The row of a volume names its instance, and only a free volume can be attached. So of two requests one is refused,
whatever else happens to the volume meanwhile.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from crofter import clock
from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor import Device, DomainSpec
from crofter.engine import Failed, Operation, Sleep, StepContext, enqueue, follow_up, step, tx_step
from crofter.engine.queue import ANY, state_in
from crofter.engine.tables import operation
from crofter.events import record
from crofter.resources.instances import hypervisor_client, states
from crofter.resources.instances import store as instances
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import SLOTS, Config
from crofter.resources.instances.hypervisor_client import Call
from crofter.resources.instances.neighbours import Devices
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.volumes import store
from crofter.resources.volumes.store import Volume

FULLVIRT_SLOTS = SLOTS[:4]
READY = ("active", "resizing")
NO_SLOT = "The configuration profile has no free device slot."
ELSEWHERE = "The Compute is in another region than the volume."
BOOTS = {"compute_boot", "lassie_reboot", "rescue_boot"}
"""Operations that switch a machine on."""
DROP_AGAIN = 10 * clock.MINUTE


class AttachArgs(Struct, frozen=True):
    instance_id: int
    volume_id: int
    config_id: int | None = None
    """The profile that gets it; None if it ends with the next boot."""
    named: bool = True
    """False if the server chose the profile: another one takes its place if it is replaced before the step runs."""


def default_profile(instance: Instance, own: list[Config]) -> Config | None:
    """Return the profile that was booted last, or the only profile."""
    booted = next((config for config in own if config.id == instance.booted_config), None)
    return own[0] if booted is None and len(own) == 1 else booted


# ---- slots ----------------------------------------------------------------------------------------------------------


def free_slot(config: Config) -> str | None:
    usable = FULLVIRT_SLOTS if config.virt_mode == "fullvirt" else SLOTS
    return next((slot for slot in usable if not config.devices.get(slot)), None)


def slot_of(config: Config, volume_id: int) -> str | None:
    return next((slot for slot, device in config.devices.items() if device.get("volume_id") == volume_id), None)


def empty_slots(ctx: Context, rows: list[Config], volume_id: int) -> None:
    for row in rows:
        left = {slot: device for slot, device in row.devices.items() if device.get("volume_id") != volume_id}
        if left != row.devices:
            configs.set_devices(ctx, row.id, left)


def _with_volume(spec: DomainSpec, slot: str, volume_id: int) -> DomainSpec:
    others = [device for device in spec.devices if device.slot != slot and device.volume != volume_id]
    devices = sorted([*others, Device(slot, volume=volume_id)], key=lambda device: device.slot)  # type: ignore[arg-type]
    return replace(spec, devices=tuple(devices))


def _without_volume(spec: DomainSpec, volume_id: int) -> DomainSpec:
    return replace(spec, devices=tuple(device for device in spec.devices if device.volume != volume_id))


# ---- attaching ------------------------------------------------------------------------------------------------------


def _held(ctx: Context, args: AttachArgs) -> Volume:
    volume = store.find_unscoped(ctx, args.volume_id)
    if volume is None or volume.instance_id != args.instance_id:
        raise Failed("The volume is gone.")
    return volume


@tx_step(weight=10)
def take_slot(ctx: Context, work: StepContext) -> Sleep | None:
    volume = _held(ctx, work.args)
    instance = instances.get_unscoped(ctx, work.args.instance_id)
    if volume.region != instance.region:
        raise Failed(ELSEWHERE)
    if work.args.config_id is None:
        work.vars["yields"] = bool(BOOTS & states.under_way(ctx, instance.id))
        return None
    config = _profile(ctx, instance, work.args)
    work.vars["config"] = config.id
    slot = slot_of(config, volume.id)
    if slot is None:
        slot = free_slot(config)
        if slot is None:
            raise Failed(NO_SLOT)
        configs.set_devices(ctx, config.id, {**config.devices, slot: {"volume_id": volume.id}})
        work.vars["taken"] = True
    work.vars["slot"] = slot
    return None


@step(weight=90)
def plug(work: StepContext) -> Sleep | None:
    """At once into a machine that is on, and into what it is defined as: its host may switch it on by itself."""
    if work.vars.get("yields"):
        return None
    with work.read() as ctx:
        instance = instances.get_unscoped(ctx, work.args.instance_id)
        volume = _held(ctx, work.args)
    if instance.host is None:
        return None
    driver, ref = hypervisor_client.hypervisor(work.runtime), hypervisor_client.domain_ref(instance)
    seen = driver.observe(ref)
    if seen.power == "unknown":
        return hypervisor_client.ask_later(work)
    if work.args.config_id is None and seen.power != "on":
        raise Failed("The Compute is not running.")
    if seen.power == "absent":
        return None
    calls: list[Call] = [lambda order: driver.ensure_attached(ref, volume.ref, order)]
    if (
        "slot" in work.vars
        and seen.spec is not None
        and _boots_with(instance, seen.spec, work.vars.get("config", work.args.config_id))
    ):
        wanted = _with_volume(seen.spec, work.vars["slot"], volume.id)
        calls.insert(0, lambda order: driver.ensure_domain(ref, wanted, order))
    return hypervisor_client.carry_out(work, calls)


def _profile(ctx: Context, instance: Instance, args: AttachArgs) -> Config:
    own = configs.of(ctx, instance.id)
    config = next((config for config in own if config.id == args.config_id), None)
    if config is None and not args.named:
        config = default_profile(instance, own)
    if config is None:
        raise Failed("The configuration profile is gone.")
    return config


def yield_turn(ctx: Context, work: StepContext) -> None:
    """Queue again behind a boot: only a machine that is on takes a volume that ends with the next boot."""
    if work.vars.get("yields"):
        enqueue(ctx, ATTACH.operation, work.args, key=work.key, event_id=work.event_id)
        work.followed = True


def _boots_with(instance: Instance, spec: DomainSpec, config_id: int | None) -> bool:
    return not spec.rescue and instance.booted_config == config_id


def let_go(ctx: Context, work: StepContext, _reason: str) -> None:
    """Free a volume that could not be attached, as soon as the machine certainly does not use it."""
    volume = store.find_unscoped(ctx, work.args.volume_id)
    if volume is None or volume.instance_id != work.args.instance_id:
        return
    if work.vars.get("taken"):
        empty_slots(ctx, configs.of(ctx, work.args.instance_id), volume.id)
    follow_up(ctx, work, DROP, work.args, key=states.key(work.args.instance_id))


# ---- detaching ------------------------------------------------------------------------------------------------------


@step(weight=90)
def unplug(work: StepContext) -> Sleep | None:
    with work.read() as ctx:
        instance = instances.find_unscoped(ctx, work.args.instance_id)
        volume = store.find_unscoped(ctx, work.args.volume_id)
    if instance is None or instance.host is None or volume is None or volume.instance_id != instance.id:
        return None
    driver, ref = hypervisor_client.hypervisor(work.runtime), hypervisor_client.domain_ref(instance)
    seen = driver.observe(ref)
    if seen.power == "unknown":
        return hypervisor_client.ask_later(work)
    if seen.power == "absent":
        return None
    calls: list[Call] = [lambda order: driver.ensure_detached(ref, volume.ref, order)]
    if seen.spec is not None and volume.id in seen.spec.volumes:
        wanted = _without_volume(seen.spec, volume.id)
        calls.insert(0, lambda order: driver.ensure_domain(ref, wanted, order))
    return hypervisor_client.carry_out(work, calls)


@tx_step(weight=10)
def free(ctx: Context, work: StepContext) -> Sleep | None:
    if store.free(ctx, work.args.volume_id, work.args.instance_id):
        empty_slots(ctx, configs.of(ctx, work.args.instance_id), work.args.volume_id)
    return None


def drop_again(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry the detachment: no other work would do it."""
    instance = instances.find_unscoped(ctx, work.args.instance_id)
    if instance is not None and instance.status != "deleting":
        enqueue(ctx, DROP, work.args, key=states.key(instance.id), due=ctx.now + DROP_AGAIN)


ATTACH = Job(
    operation=Operation(kind="volume_attach", args=AttachArgs, steps=(take_slot, plug), done=yield_turn, failed=let_go),
    action="volume_attach",
    accepts=tuple(status for status in states.STATUSES if status != "deleting"),
    after=("volume_create",),
    behind=(ANY,),
)
"""Waits its turn behind all work on the instance."""
DETACH = Job(
    operation=Operation(kind="volume_detach", args=AttachArgs, steps=(unplug, free)),
    action="volume_detach",
)
DROP = Operation(kind="volume_drop", args=AttachArgs, steps=(unplug, free), failed=drop_again, keep=False)
JOBS = (ATTACH, DETACH)


_QUEUED = query(
    select(operation.c.input).where(
        operation.c.key == bindparam("key"),
        state_in(operation, "queued"),
        operation.c.kind == ATTACH.operation.kind,
    )
)


# callbacks of instances


def booting(ctx: Context, instance: Instance, devices: Devices) -> None:
    """Free volumes that were attached until the next boot; attach free volumes that the profile names."""
    named = configs.volumes_of(devices)
    passing = [volume for volume in store.attached(ctx, instance.id) if not volume.persistent]
    waiting = _waiting(ctx, instance.id) if passing else set()
    for volume in passing:
        if volume.id not in named and volume.id not in waiting:
            release(ctx, volume, instance)
    for volume_id in sorted(named):
        volume_named = store.find_unscoped(ctx, volume_id)
        if volume_named is None or volume_named.account_id != instance.account_id:
            raise Failed(f"Volume {volume_id} is gone.")
        _take(ctx, volume_named, instance)


def _waiting(ctx: Context, instance_id: int) -> set[int]:
    """Return the ids of volumes whose attachment waits for what is under way with the instance."""
    return {args["volume_id"] for args in ctx.db.column(_QUEUED, key=states.key(instance_id))}


def _take(ctx: Context, volume: Volume, instance: Instance) -> None:
    if volume.status not in READY or volume.region != instance.region:
        raise Failed(f"Volume {volume.label} is not ready.")
    if volume.instance_id == instance.id:
        store.change(ctx, volume.id, persistent=True)
    elif store.claim(ctx, volume.id, instance.id, persistent=True):
        record(ctx, "volume_attach", store.entity(volume), instances.entity(instance))
    else:
        raise Failed(f"Volume {volume.label} is attached to another Compute.")


def redeployed(ctx: Context, instance: Instance, config_id: int | None) -> None:
    """The volumes stay with an instance whose profiles were replaced, in the first free slots of the new one."""
    for volume in store.attached(ctx, instance.id):
        config = next((candidate for candidate in configs.of(ctx, instance.id) if candidate.id == config_id), None)
        slot = free_slot(config) if config is not None and volume.persistent else None
        if volume.status not in READY:
            continue  # still being created, attached afterwards
        if config is None or slot is None:
            release(ctx, volume, instance)
        else:
            configs.set_devices(ctx, config.id, {**config.devices, slot: {"volume_id": volume.id}})


def release(ctx: Context, volume: Volume, instance: Instance) -> None:
    """Free the volume of a machine that is off or gone."""
    store.free(ctx, volume.id, instance.id)
    record(ctx, "volume_detach", store.entity(volume), instances.entity(instance))
