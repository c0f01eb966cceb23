"""From a configuration profile to the machine that the hypervisor boots."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.drivers.hypervisor import Device, DomainSpec, Interface
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.configs.store import SLOTS, Config
from crofter.resources.instances.store import Instance


def spec(ctx: Context, instance: Instance, config: Config) -> DomainSpec:
    memory = min(config.memory_limit or instance.memory, instance.memory)
    return DomainSpec(
        vcpus=instance.vcpus,
        memory=memory,
        devices=devices(config.devices),
        interfaces=_interfaces(ctx, instance, config),
        kernel=config.kernel,
        root_device=config.root_device,
        run_level=config.run_level,  # type: ignore[arg-type]
        virt_mode=config.virt_mode,  # type: ignore[arg-type]
        helpers=tuple(sorted(name for name, wanted in config.helpers.items() if wanted)),
    )


def bare(instance: Instance) -> DomainSpec:
    """Return the machine without disks, to find a host for it."""
    return DomainSpec(vcpus=instance.vcpus, memory=instance.memory)


def devices(slots: dict[str, Any]) -> tuple[Device, ...]:
    return tuple(
        Device(slot, device.get("disk_id"), device.get("volume_id"))  # type: ignore[arg-type]
        for slot in SLOTS
        if (device := slots.get(slot))
    )


def _interfaces(ctx: Context, instance: Instance, config: Config) -> tuple[Interface, ...]:
    if not config.interfaces:
        return (Interface("public"),)
    return tuple(
        Interface("vlan", vlans.number(ctx, instance, str(interface["label"])), interface.get("ipam_address") or None)
        if interface["purpose"] == "vlan"
        else Interface("public")
        for interface in config.interfaces
    )
