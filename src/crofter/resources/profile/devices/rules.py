"""Trusted devices: how they are shown, and what ends the trust."""

from __future__ import annotations

import msgspec

from crofter.context import Context
from crofter.resources.profile.devices import store
from crofter.resources.profile.devices.shapes import TrustedDeviceView
from crofter.resources.profile.devices.store import Device


def views(rows: list[Device]) -> list[TrustedDeviceView]:
    return [view(row) for row in rows]


def view(row: Device) -> TrustedDeviceView:
    return TrustedDeviceView(*msgspec.structs.astuple(row))


def distrust(ctx: Context, device: Device) -> None:
    store.delete(ctx, device.id)
