"""Browsers that a user trusts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, select
from crofter.resources.logins.store import device
from crofter.shapes import Filtered, Id, Moment, View

# ---- shapes ---------------------------------------------------------------------------------------------------------


class TrustedDeviceView(View):
    """A browser that need not show a second factor."""

    created: Filtered[Moment]
    expiry: Moment
    id: Id
    last_authenticated: Moment
    last_remote_addr: Annotated[str, Meta(description="The address that it last came from.")]
    user_agent: str


# ---- rows -----------------------------------------------------------------------------------------------------------


class Device(Row):
    created: str
    expiry: str
    id: int
    last_authenticated: str
    last_remote_addr: str
    user_agent: str


_TRUSTED = select(*(device.c[name] for name in Device.__struct_fields__)).where(
    device.c.user_id == bindparam("user_id"), device.c.expiry > bindparam("moment")
)
DEVICES = Collection(TrustedDeviceView, _TRUSTED, Device, key=device.c.id, columns={"created": device.c.created})
_ONE = query(_TRUSTED.where(device.c.id == bindparam("device_id")), Device)


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look at one's devices is bounded by."""
    return {"user_id": ctx.actor.user_id, "moment": ctx.moment}


def one(ctx: Context, device_id: int) -> Device:
    return ctx.db.one(_ONE, device_id=device_id, **scope(ctx))


def delete(ctx: Context, device_id: int) -> None:
    ctx.db.delete(device, user_id=ctx.actor.user_id, id=device_id)


def delete_all(ctx: Context) -> None:
    ctx.db.delete(device, user_id=ctx.actor.user_id)


# ---- rules ----------------------------------------------------------------------------------------------------------


def views(rows: list[Device]) -> list[TrustedDeviceView]:
    return [view(row) for row in rows]


def view(row: Device) -> TrustedDeviceView:
    return TrustedDeviceView(*msgspec.structs.astuple(row))
