"""Rules of configuration profiles."""

from __future__ import annotations

import re

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.resources.account import store as accounts
from crofter.resources.instances import store
from crofter.resources.instances.configs import devices, vlans
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.networks import tell_of_networks
from crofter.resources.instances.configs.shapes import (
    ConfigBody,
    ConfigCreate,
    ConfigUpdate,
    ConfigView,
    DevicesView,
    DeviceView,
    HelpersView,
    InterfaceView,
    Values,
)
from crofter.resources.instances.configs.store import SLOTS, Config
from crofter.resources.instances.store import Instance
from crofter.resources.kernels import store as kernels
from crofter.resources.regions import store as regions
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
        interfaces=[
            InterfaceView(interface["ipam_address"], interface["label"], interface["purpose"])  # type: ignore[arg-type]
            for interface in row.interfaces
        ],
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
    values = _values(ctx, instance, body, configs.default_helpers(network=accounts.network_helper(ctx)))
    values.setdefault("memory_limit", instance.memory)
    config = configs.insert(ctx, instance.id, **values)
    vlans.follow(ctx, instance.region, config)
    record(ctx, "compute_config_create", store.entity(instance), configs.entity(config))
    return view(config)


def update(ctx: Context, instance: Instance, config: Config, body: ConfigUpdate) -> ConfigView:
    _check(ctx, instance, body, body.virt_mode if body.virt_mode is not UNSET else config.virt_mode, config)
    values = _values(ctx, instance, body, config.helpers)
    ctx.db.update(configs.config, {"id": config.id}, **values, updated=ctx.moment)
    changed = configs.one(ctx, instance.id, config.id)
    if changed.networks != config.networks:
        vlans.follow(ctx, instance.region, changed, before=config)
    if instance.booted_config == config.id:
        tell_of_networks(ctx, instance, config, changed)
    record(ctx, "compute_config_update", store.entity(instance), configs.entity(changed))
    return view(changed)


def delete(ctx: Context, instance: Instance, config: Config) -> None:
    if instance.status != "offline" and instance.booted_config == config.id:
        raise Invalid("The configuration profile is in use by the running Compute.")
    if instance.booted_config == config.id:
        tell_of_networks(ctx, instance, config, None)
        ctx.db.update(store.instance, {"id": instance.id}, booted_config=None)
    ctx.db.delete(configs.config, id=config.id)
    record(ctx, "compute_config_delete", store.entity(instance), configs.entity(config))


def _values(ctx: Context, instance: Instance, body: ConfigBody, helpers: dict[str, bool]) -> Values:
    values: Values = given(body, "label", "comments", "kernel", "memory_limit", "root_device", "run_level", "virt_mode")
    if body.devices is not UNSET:
        values["devices"] = devices.kept(body.devices)
        values["names_volumes"] = bool(configs.volumes_of(values["devices"]))
    if "root_device" in values and not _DEVICE.fullmatch(values["root_device"]):
        values["root_device"] = ROOT
    if isinstance(body, ConfigCreate) or body.helpers is not UNSET:
        sent = {} if body.helpers is UNSET else given(body.helpers)
        values["helpers"] = {**helpers, **sent}
    if body.interfaces is not UNSET:
        values["interfaces"] = vlans.kept(body.interfaces)
    return values


def _check(ctx: Context, instance: Instance, body: ConfigBody, virt_mode: str, config: Config | None = None) -> None:
    reasons: list[Reason] = []
    slots = set(config.devices if config else ())
    if body.devices is not UNSET:
        reasons += devices.complaints(ctx, instance, body.devices)
        slots = set(devices.kept(body.devices))
    if virt_mode == "fullvirt" and slots & set(SLOTS) - set(FULLVIRT_SLOTS):
        reasons.append(Reason("sde to sdh are not available with fullvirt", "devices"))
    if body.interfaces is not UNSET:
        reasons += vlans.complaints(ctx, regions.find(ctx, instance.region), body.interfaces)
    if body.kernel is not UNSET and (config is None or body.kernel != config.kernel):
        kernel = kernels.find(ctx, body.kernel)
        if kernel is None or not kernel.offered:
            reasons.append(Reason("kernel is not valid", "kernel"))
    if body.memory_limit is not UNSET and body.memory_limit > instance.memory:
        reasons.append(Reason(f"Must be 0-{instance.memory}", "memory_limit"))
    if reasons:
        raise Invalid.all(reasons)
