"""Which ways into an instance can be set."""

from __future__ import annotations

from crofter.context import Context
from crofter.errors import Invalid
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import store as ips
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
    return {*ips.texts(ctx, compute_id), ips.slaac(instances.one(ctx, compute_id).region, compute_id)}
