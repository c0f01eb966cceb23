"""Which ways into an instance can be set."""

from __future__ import annotations

import msgspec

from crofter.context import Context
from crofter.errors import Invalid
from crofter.resources.managed.compute_settings import store
from crofter.resources.managed.compute_settings.shapes import ANY, ComputeSettingsUpdate, ComputeSettingsView
from crofter.resources.managed.compute_settings.store import Setting
from crofter.shapes import UNSET, given


def update(ctx: Context, setting: Setting, body: ComputeSettingsUpdate) -> ComputeSettingsView:
    if body.ssh is not UNSET:
        changes = given(body.ssh)
        if changes.get("ip", ANY) != ANY and changes["ip"] not in _addresses(ctx, setting.id):
            raise Invalid("Must be an address of this Compute, or any", field="ssh.ip")
        store.put(ctx, setting, changes)
    return store.one(ctx, setting.id).view()


def _addresses(ctx: Context, compute_id: int) -> set[str]:
    kind = ctx.world.kinds.get("compute")
    assert kind is not None  # or there would be no settings
    shown = msgspec.json.decode(msgspec.json.encode(kind.views(ctx, [compute_id])[compute_id]))
    return {*shown["ipv4"], shown["ipv6"].partition("/")[0]}
