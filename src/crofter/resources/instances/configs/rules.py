"""What a configuration profile may say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.journal import record
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.instances import store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.configs.shapes import (
    Change,
    ConfigCreate,
    ConfigUpdate,
    ConfigView,
    Devices,
    DevicesView,
    DeviceView,
    HelpersView,
    InterfaceView,
    Values,
)
from crofter.resources.instances.configs.store import HELPERS, SLOTS, Config
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.store import Instance
from crofter.resources.kernels import store as kernels
from crofter.resources.regions import store as regions
from crofter.resources.volumes import store as volumes
from crofter.shapes import UNSET, given

FULLVIRT_SLOTS = ("sda", "sdb", "sdc", "sdd")
ROOT = "/dev/sda"
_DEVICE = re.compile(r"/dev/[A-Za-z0-9/_-]+")


def view(row: Config) -> ConfigView:
    slots = {slot: _device(row.devices.get(slot)) for slot in SLOTS}
    return ConfigView(
        comments=row.comments,
        created=row.created,
        devices=DevicesView(**slots),
        helpers=HelpersView(**row.helpers),
        id=row.id,
        initrd=None,
        interfaces=[InterfaceView(one["ipam_address"], one["label"], one["purpose"]) for one in row.interfaces],  # type: ignore[arg-type]
        kernel=row.kernel,
        label=row.label,
        memory_limit=row.memory_limit,
        root_device=row.root_device,
        run_level=row.run_level,  # type: ignore[arg-type]
        updated=row.updated,
        virt_mode=row.virt_mode,  # type: ignore[arg-type]
    )


def _device(kept: dict[str, int | None] | None) -> DeviceView | None:
    return None if not kept else DeviceView(kept.get("disk_id"), kept.get("volume_id"))


def create(ctx: Context, instance: Instance, body: ConfigCreate) -> ConfigView:
    _check(ctx, instance, body, body.virt_mode if body.virt_mode is not UNSET else "paravirt")
    helpers = {**dict.fromkeys(HELPERS, True), "network": accounts.network_helper(ctx)}
    values = _values(ctx, instance, body, helpers)
    values.setdefault("memory_limit", instance.memory)
    config = configs.insert(ctx, instance.id, **values)
    record(ctx, "compute_config_create", store.entity(instance), configs.entity(config))
    return view(config)


def update(ctx: Context, instance: Instance, config: Config, body: ConfigUpdate) -> ConfigView:
    _check(ctx, instance, body, body.virt_mode if body.virt_mode is not UNSET else config.virt_mode, config)
    values = _values(ctx, instance, body, config.helpers)
    ctx.db.update(configs.config, {"id": config.id}, **values, updated=ctx.moment)
    changed = configs.one(ctx, instance.id, config.id)
    _tell_of_networks(ctx, instance, config, changed)
    record(ctx, "compute_config_update", store.entity(instance), configs.entity(changed))
    return view(changed)


def _tell_of_networks(ctx: Context, instance: Instance, before: Config, after: Config) -> None:
    """Private networks of the profile in use that appear or disappear are told of by name."""
    if instance.booted_config != before.id:
        return
    old, new = _networks(before), _networks(after)
    for label in sorted(new - old):
        record(ctx, "vlan_attach", store.entity(instance), Entity("vlan", label, label))
    for label in sorted(old - new):
        record(ctx, "vlan_detach", store.entity(instance), Entity("vlan", label, label))


def _networks(config: Config) -> set[str]:
    return {str(one["label"]) for one in config.interfaces if one["purpose"] == "vlan"}


def delete(ctx: Context, instance: Instance, config: Config) -> None:
    if instance.status == "running" and instance.booted_config == config.id:
        raise Invalid("The configuration profile is in use by the running Compute.")
    ctx.db.delete(configs.config, id=config.id)
    record(ctx, "compute_config_delete", store.entity(instance), configs.entity(config))


def _values(ctx: Context, instance: Instance, body: Change, helpers: dict[str, bool]) -> Values:
    values: Values = given(body, "label", "comments", "kernel", "memory_limit", "root_device", "run_level", "virt_mode")
    if body.devices is not UNSET:
        values["devices"] = _kept_devices(body.devices)
    if "root_device" in values and not _DEVICE.fullmatch(values["root_device"]):
        values["root_device"] = ROOT
    if isinstance(body, ConfigCreate) or body.helpers is not UNSET:
        sent = {} if body.helpers is UNSET else given(body.helpers)
        values["helpers"] = {**helpers, **sent}
    if body.interfaces is not UNSET:
        values["interfaces"] = vlans.make(ctx, instance.region, body.interfaces)
    return values


def _kept_devices(sent: Devices) -> dict[str, dict[str, int]]:
    kept: dict[str, dict[str, int]] = {}
    for slot, device in sent.items():
        if device is not None and device.disk_id is not None:
            kept[slot] = {"disk_id": device.disk_id}
        elif device is not None and device.volume_id is not None:
            kept[slot] = {"volume_id": device.volume_id}
    return kept


def _check(ctx: Context, instance: Instance, body: Change, virt_mode: str, config: Config | None = None) -> None:
    reasons: list[Reason] = []
    if body.devices is not UNSET:
        reasons += _about_devices(ctx, instance, body.devices)
    slots: Sequence[str] = config.devices.keys() if config else ()  # type: ignore[assignment]
    if body.devices is not UNSET:
        slots = [slot for slot, device in body.devices.items() if device is not None]
    if virt_mode == "fullvirt" and any(slot in SLOTS and slot not in FULLVIRT_SLOTS for slot in slots):
        reasons.append(Reason("sde to sdh are not available with fullvirt", "devices"))
    if body.interfaces is not UNSET:
        region = regions.find(ctx, instance.region)
        reasons += vlans.complaints(ctx, region, body.interfaces) if region else []
    if body.kernel is not UNSET:
        kernel = kernels.find(ctx, body.kernel)
        if kernel is None or not kernel.offered:
            reasons.append(Reason("kernel is not valid", "kernel"))
    if body.memory_limit is not UNSET and body.memory_limit > instance.memory:
        reasons.append(Reason(f"Must be 0-{instance.memory}", "memory_limit"))
    if reasons:
        raise Invalid.all(reasons)


def _about_devices(ctx: Context, instance: Instance, sent: Devices) -> Iterator[Reason]:
    own = {disk.id for disk in disks.of(ctx, instance.id)}
    used: set[tuple[str, int]] = set()
    for slot, device in sent.items():
        path = f"devices.{slot}"
        if slot not in SLOTS:
            yield Reason(f"Must be one of {', '.join(SLOTS)}", path)
        if device is None:
            continue
        if device.disk_id is not None and device.volume_id is not None:
            yield Reason("Only one of disk_id and volume_id may be set", path)
        if device.disk_id is not None and device.disk_id not in own:
            yield Reason("disk_id is not valid", f"{path}.disk_id")
        if device.volume_id is not None and not volumes.usable(ctx, device.volume_id, instance):
            yield Reason("volume_id is not valid", f"{path}.volume_id")
        for what in (("disk", device.disk_id), ("volume", device.volume_id)):
            if what[1] is not None and what in used:
                yield Reason(f"The {what[0]} is assigned to another slot already", path)
            elif what[1] is not None:
                used.add((what[0], what[1]))
