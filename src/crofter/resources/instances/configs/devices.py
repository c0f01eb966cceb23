"""Checks of the devices of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crofter.context import Context
from crofter.errors import Reason
from crofter.resources.instances import neighbours
from crofter.resources.instances.configs.store import SLOTS
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.shapes import DeviceBody, Devices
from crofter.resources.instances.store import Instance


def complaints(ctx: Context, instance: Instance, sent: Devices, slots: Sequence[str] = SLOTS) -> Iterator[Reason]:
    """Everything that is wrong with a device map."""
    used: set[tuple[str, int]] = set()
    for slot, device in sent.items():
        path = f"devices.{slot}"
        if slot not in slots:
            yield Reason(f"Must be one of {', '.join(slots)}", path)
        if device is None or slot not in slots:
            continue
        yield from _one(ctx, instance, device, path)
        for what in (("disk", device.disk_id), ("volume", device.volume_id)):
            if what[1] is not None and what in used:
                yield Reason(f"The {what[0]} is assigned to another slot already", path)
            elif what[1] is not None:
                used.add((what[0], what[1]))


def _one(ctx: Context, instance: Instance, device: DeviceBody, path: str) -> Iterator[Reason]:
    if device.disk_id is not None and device.volume_id is not None:
        yield Reason("Only one of disk_id and volume_id may be set", path)
    if device.disk_id is not None and disks.find(ctx, instance.id, device.disk_id) is None:
        yield Reason("disk_id is not valid", f"{path}.disk_id")
    field = f"{path}.volume_id"
    if device.volume_id is not None and not neighbours.has_volume(ctx, instance, device.volume_id, field):
        yield Reason("volume_id is not valid", field)


def kept(sent: Devices) -> dict[str, dict[str, int]]:
    """Return the devices in the stored form, without empty slots."""
    slots: dict[str, dict[str, int]] = {}
    for slot, device in sent.items():
        if device is not None and device.disk_id is not None:
            slots[slot] = {"disk_id": device.disk_id}
        elif device is not None and device.volume_id is not None:
            slots[slot] = {"volume_id": device.volume_id}
    return slots
