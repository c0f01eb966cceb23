"""Events for instances that join or leave private networks."""

from __future__ import annotations

from crofter.context import Context
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.instances import store
from crofter.resources.instances.configs.store import Config
from crofter.resources.instances.store import Instance


def tell_of_networks(ctx: Context, instance: Instance, before: Config | None, after: Config | None) -> None:
    """Write an event for each private network that the active profile joins or leaves."""
    old, new = (set() if config is None else config.networks for config in (before, after))
    for label in sorted(new - old):
        record(ctx, "vlan_attach", store.entity(instance), Entity("vlan", label, label))
    for label in sorted(old - new):
        record(ctx, "vlan_detach", store.entity(instance), Entity("vlan", label, label))
