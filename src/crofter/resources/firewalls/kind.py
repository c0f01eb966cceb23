"""Kind of firewalls, for other resources."""

from __future__ import annotations

from crofter.context import Context
from crofter.events import record
from crofter.kinds import kind_of
from crofter.resources.firewalls import rules, store
from crofter.resources.instances import store as instances
from crofter.resources.instances.neighbours import Neighbour
from crofter.resources.instances.store import Instance


def _remove(ctx: Context, firewall_id: int) -> None:
    # The machines go too, and are guarded until then.
    rules.remove(ctx, firewall_id)


FIREWALL = kind_of(
    store.firewall,
    name=store.KIND,
    url="/v4/networking/firewalls/{id}",
    shown=lambda ctx, ids: store.views(store.these(ctx, ids)),
    remove=_remove,
)


def _let_go(ctx: Context, instance: Instance) -> None:
    for firewall in store.let_go(ctx, instance.id):
        record(ctx, "firewall_device_remove", firewall, instances.entity(instance))


NEIGHBOUR = Neighbour(deleted=_let_go, filter_rules=rules.filter_rules, guard=rules.guard)
"""Callbacks of firewalls for instances."""
