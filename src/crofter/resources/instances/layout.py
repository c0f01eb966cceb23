"""What an image is deployed to, as rows: a root disk, a swap disk, and the profile that boots them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from crofter.context import Context
from crofter.resources.account import store as accounts
from crofter.resources.images.store import Image
from crofter.resources.instances import store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.configs.networks import tell_of_networks
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions

DEPLOYED_KERNEL = "compute/grub2"
SWAP = 512


class DiskPlan(Struct, frozen=True):
    """One disk to make: its number, and what it starts as."""

    disk_id: int
    image: str | None = None
    minimum: int = 0
    backup_id: int | None = None
    backup_host: int | None = None
    backup_disk: int | None = None
    disk_host: int | None = None
    from_disk: int | None = None


class Layout(Struct, frozen=True):
    """Disks to make, the one that root lives on, and the profile to boot."""

    disks: list[DiskPlan]
    root_id: int
    config_id: int


def clear(ctx: Context, instance: Instance) -> None:
    """Forget all disks and profiles, to make way for others."""
    if instance.booted_config is not None:
        tell_of_networks(ctx, instance, configs.find(ctx, instance.id, instance.booted_config), None)
        ctx.db.update(store.instance, {"id": instance.id}, booted_config=None)
    ctx.db.delete(disks.disk, instance_id=instance.id)
    ctx.db.delete(configs.config, instance_id=instance.id)


def from_image(
    ctx: Context, instance: Instance, image: Image, *, swap_size: int = SWAP, interfaces: Sequence[Any] = ()
) -> Layout:
    root = disks.insert(
        ctx,
        instance.id,
        label=f"{image.label} Disk"[:48],
        size=instance.disk - swap_size,
        filesystem=image.filesystem,
        image=image.slug,
    )
    plans = [DiskPlan(root.id, image=image.slug, minimum=image.size)]
    devices = {"sda": {"disk_id": root.id}}
    if swap_size:
        swap = disks.insert(ctx, instance.id, label=f"{swap_size} MB Swap Image", size=swap_size, filesystem="swap")
        plans.append(DiskPlan(swap.id))
        devices["sdb"] = {"disk_id": swap.id}
    config = configs.insert(
        ctx,
        instance.id,
        label=f"My {image.label} Disk Profile"[:48],
        devices=devices,
        kernel=DEPLOYED_KERNEL,
        helpers=configs.default_helpers(network=accounts.network_helper(ctx)),
        memory_limit=instance.memory,
        interfaces=vlans.make(ctx, instance.region, interfaces),
    )
    return Layout(plans, root.id, config.id)


def config_again(ctx: Context, instance: Instance, kept: dict[str, Any], numbers: dict[int, int]) -> configs.Config:
    """A remembered profile, with the new numbers of its disks; slots of others stay empty."""
    devices: dict[str, dict[str, int | None]] = {}
    for slot, device in kept["devices"].items():
        number = numbers.get(device.get("disk_id"))
        if number is not None:
            devices[slot] = {"disk_id": number}
    more = {name: kept[name] for name in configs.KEPT if name != "devices"}
    more["memory_limit"] = min(kept["memory_limit"], instance.memory)
    made = configs.insert(ctx, instance.id, devices=devices, **more)
    region = regions.find(ctx, instance.region)
    if region is not None and vlans.CAPABILITY in region.capabilities:
        vlans.ensure(ctx, instance.region, sorted(made.networks))
    return made
