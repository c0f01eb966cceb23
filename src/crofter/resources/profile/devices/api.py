"""Trusted devices: list, view, forget."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.profile.devices import store
from crofter.resources.profile.devices.store import TrustedDeviceView
from crofter.shapes import Page

TheDevice = Annotated[store.Device, Lookup(store.one, "device_id")]


@endpoint("GET /v4/profile/devices", scope="account:read_only", grant="any")
def list_devices(ctx: Context, listing: Listing) -> Page[TrustedDeviceView]:
    """List the browsers that you trust."""
    return listing.of(ctx, store.DEVICES, store.views, **store.scope(ctx))


@endpoint("GET /v4/profile/devices/{device_id}", scope="account:read_only", grant="any")
def view_device(ctx: Context, device: TheDevice) -> TrustedDeviceView:
    """View a browser that you trust."""
    return store.view(device)


@endpoint(
    "DELETE /v4/profile/devices/{device_id}",
    scope="account:read_write",
    grant="any",
    events=NoEvents("the interface has no action for browsers"),
)
def delete_device(ctx: Context, device: TheDevice) -> None:
    """Trust a browser no longer."""
    store.delete(ctx, device.id)
